"""Op variants at which a runtime fails or is wrong; `expand-ops` decomposes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from passes.decompositions.missing_kernels import affine_grid, inverse_dft, lrn, normalizations, pointwise


@dataclass(frozen=True)
class Quirk:
    """A variant of an op: `what` names it, `holds` tests whether an op may have it."""

    what: str
    holds: Callable[[OnnxOp], bool]


def _has_no_hidden_size(op: OnnxOp) -> bool:
    return "hidden_size" not in op.onnx_attributes()


NO_HIDDEN_SIZE = Quirk("no hidden_size", _has_no_hidden_size)
"""ONNX allows inferring it from the weights; `simplify` sets it for static shapes."""

CPU_QUIRKS: Mapping[type[OnnxOp], Quirk] = {
    onnx.AffineGridOp: Quirk("align_corners and an axis of size 1", affine_grid.may_have_size_1),
    onnx.BatchNormalizationOp: Quirk("training, in place", normalizations.may_overwrite),
    onnx.DFTOp: Quirk("f64, inverse, with a factor in f32", inverse_dft.is_inverse_in_f64),
    **dict.fromkeys((onnx.GRUOp, onnx.LSTMOp, onnx.RNNOp), NO_HIDDEN_SIZE),
    onnx.HardSwishOp: Quirk("f64, with a factor in f32", pointwise.is_in_f64),
    onnx.LRNOp: Quirk("an even size, or no image", lrn.is_unsupported_lrn),
}
"""Op -> the form at which its kernel of the CPU provider fails or is wrong."""
