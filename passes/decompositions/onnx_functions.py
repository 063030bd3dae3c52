"""gradc's decompositions of ops whose ONNX function bodies lose accuracy."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from passes.decompositions.missing_kernels import normalizations, pointwise
from passes.decompositions.missing_kernels.reduce_log_sum_exp import reduce_log_sum_exp
from passes.decompositions.older_opsets.table import OlderForm

DEFINITIONS: Mapping[type[OnnxOp], OlderForm] = MappingProxyType(
    {
        onnx.DynamicQuantizeLinearOp: pointwise.dynamic_quantize_linear,
        onnx.GroupNormalizationOp: normalizations.group_normalization,
        onnx.LayerNormalizationOp: normalizations.layer_normalization,
        onnx.MeanVarianceNormalizationOp: normalizations.mean_variance_normalization,
        onnx.RMSNormalizationOp: normalizations.rms_normalization,
        onnx.ReduceLogSumExpOp: reduce_log_sum_exp,
    }
)
"""Op -> its decomposition, also used instead of a function body that the runtime would inline."""
