"""Classes of ops that are declared by op specs, created on first use.

A graph has some ten kinds of ops, the dialect ninety. `python -m dialects.onednn.stubs` writes the stub for
type checkers and editors.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

from dialects.onednn import (
    batch_norm,
    conv,
    conv_backward_weights,
    interpolate,
    linear,
    norm,
    pointwise,
    pool,
    pool_backward,
    prelu,
    quant,
    reduce,
    softmax,
    structure,
)
from dialects.onednn.families import (
    BinaryOp,
    ComparisonOp,
    ReductionOp,
    SelectionOp,
    TableOp,
    UnaryBackwardOp,
    UnaryOp,
)
from dialects.onednn.op_spec import OpSpec
from dialects.support.attributes import AttributeSpec, defaulted, required
from dialects.support.documented_op import documented_op

FAMILIES: Mapping[str, tuple[type[TableOp], Sequence[OpSpec]]] = MappingProxyType(
    {
        "unary": (UnaryOp, pointwise.UNARY),
        "binary": (BinaryOp, pointwise.BINARY),
        "comparison": (ComparisonOp, pointwise.COMPARISON),
        "choice": (SelectionOp, pointwise.CHOICE),
        "unary backward": (UnaryBackwardOp, pointwise.BACKWARD),
        "reduction": (ReductionOp, reduce.REDUCTIONS),
        "rectifier": (prelu.ParametricReluOp, prelu.RECTIFIERS),
        "rectifier backward": (prelu.ParametricReluBackwardOp, prelu.RECTIFIERS_BACKWARD),
        "joining": (structure.ConcatenationOp, structure.JOINING),
        "reshaping": (structure.ReshapeOp, structure.RESHAPING),
        "permuting": (structure.TransposeOp, structure.PERMUTING),
        "casting": (structure.DtypeConversionOp, structure.CASTING),
        "indexing": (structure.AxisIndexOp, structure.INDEXING),
        "dropping": (structure.IdentityDropoutOp, structure.DROPPING),
        "bias": (linear.BiasOp, linear.BIAS),
        "average pool backward": (pool_backward.AvgPoolGradientOp, pool_backward.AVG),
        "max pool backward": (pool_backward.MaxPoolGradientOp, pool_backward.MAX),
        "weights gradient": (conv_backward_weights.WeightsGradientOp, conv_backward_weights.GRADIENTS),
        "bias backward": (linear.BiasBackwardOp, linear.BIAS_BACKWARD),
        "product": (linear.ProductOp, linear.PRODUCT),
        "quantization": (quant.QuantizationOp, quant.QUANTIZATION),
        "dequantization": (quant.DequantizationOp, quant.DEQUANTIZATION),
        "dynamic quantization": (quant.DynamicQuantizationOp, quant.DYNAMIC_QUANTIZATION),
        "dynamic dequantization": (quant.DynamicDequantizationOp, quant.DYNAMIC_DEQUANTIZATION),
        "softmax": (softmax.SoftmaxFamilyOp, softmax.SOFTMAX),
        "log softmax": (softmax.LogSoftmaxFamilyOp, softmax.LOG_SOFTMAX),
        "softmax backward": (softmax.SoftmaxFamilyBackwardOp, softmax.SOFTMAX_BACKWARD),
        "convolution": (conv.ConvolutionForwardOp, conv.CONVOLUTION),
        "transposed convolution": (conv.ConvTransposeForwardOp, conv.CONV_TRANSPOSE),
        "averaging": (pool.AveragePoolingOp, pool.AVERAGING),
        "maximum": (pool.MaxPoolingOp, pool.MAXIMUM),
        "interpolation": (interpolate.InterpolationOp, interpolate.INTERPOLATION),
        "layer normalization": (norm.LayerNormalizationOp, norm.LAYER_NORMALIZATION),
        "layer normalization backward": (
            norm.LayerNormalizationBackwardOp,
            norm.LAYER_NORMALIZATION_BACKWARD,
        ),
        "rms normalization": (norm.RMSNormalizationOp, norm.RMS_NORMALIZATION),
        "group normalization": (norm.GroupNormalizationOp, norm.GROUP_NORMALIZATION),
        "batch inference": (batch_norm.InferenceOp, batch_norm.INFERENCE),
        "batch training": (batch_norm.TrainingOp, batch_norm.TRAINING),
        "batch training backward": (batch_norm.TrainingBackwardOp, batch_norm.TRAINING_BACKWARD),
    }
)

_SPECS: dict[str, tuple[type[TableOp], OpSpec]] = {
    spec.kind: (base, spec) for base, specs in FAMILIES.values() for spec in specs
}

KINDS = tuple(_SPECS)
"""The kinds of all op specs, table by table."""

NAMES: Mapping[str, str] = MappingProxyType(
    {f"onednn.{spec.method}": kind for kind, (_, spec) in _SPECS.items()}
)
"""Name of an op in IR text -> its kind."""


_LOADED: dict[str, type[TableOp]] = {}


def spec_class(kind: str) -> type[TableOp]:
    """Return the class of a kind that has an op spec. Raises KeyError."""
    if kind not in _LOADED:
        _LOADED[kind] = _create_class(*_SPECS[kind])
    return _LOADED[kind]


def classes_in_use() -> tuple[type[TableOp], ...]:
    """Return the classes created so far, which include those of all existing ops."""
    return tuple(_LOADED.values())


def _create_class(base: type[TableOp], spec: OpSpec) -> type[TableOp]:
    body: dict[str, Any] = {
        "__module__": __name__,
        "__doc__": docstring(base, spec),
        "__annotations__": {"KIND": ClassVar[str], "SPEC": ClassVar[OpSpec]},
        "name": f"onednn.{spec.method}",
        "KIND": spec.kind,
        "SPEC": spec,
    }
    body |= {name: _definition(attribute) for name, attribute in base.attributes_of(spec).items()}
    return documented_op(type(f"{spec.kind}Op", (base,), body))


def __getattr__(name: str) -> Any:
    kind = name.removesuffix("Op")
    if kind not in _SPECS or name == kind:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return spec_class(kind)


def _definition(spec: AttributeSpec[Any]) -> Any:
    return required(spec) if spec.default is None else defaulted(spec)


def result_formula(base: type[TableOp], spec: OpSpec) -> str:
    """Return `dst[i] = abs(src[i])`: the first result and the spec's formula."""
    index = "[i]" if "[i]" in spec.formula else ""
    return f"{base.RESULTS[0]}{index} = {spec.formula}"


def docstring(base: type[TableOp], spec: OpSpec) -> str:
    """Return summary, formula and constraints, formatted like a handwritten class docstring."""
    parts = (base.SUMMARY, f"{result_formula(base, spec)}.", base.CONSTRAINTS)
    return (
        "\n\n".join(textwrap.indent(textwrap.fill(part, 106), "    ") for part in parts).lstrip() + "\n    "
    )
