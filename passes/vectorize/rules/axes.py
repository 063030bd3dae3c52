"""Batching rules of ops that act along axes: the axes of the rows come after the new one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from dialects.onnx import ops as onnx
from dialects.onnx import traits
from passes.builder.values import Value
from passes.vectorize.batch import Batch, BatchingRule, OpCall, Operand, Result

_ALONG_AXIS = (
    *("ArgMax", "ArgMin", "Hardmax", "LayerNormalization", "LogSoftmax", "LpNormalization", "OneHot"),
    *("RMSNormalization", "Softmax", "Split", "TopK"),
)
"""Ops with an attribute `axis`, and without further operands that could be batched."""


def shift(axis: int) -> int:
    """Return an axis of the rows as one of the whole; counted from the end it is the same."""
    return axis + 1 if axis >= 0 else axis


def shift_operand(b: Batch, axes: Operand) -> Value:
    """Return axes given as an operand as axes of the whole."""
    known = axes.constant
    if known is not None:
        shifted = (known + (known >= 0)).astype(known.dtype)
        return b.e(b.e.emit.constant(shifted))
    return axes.value + (axes.value >= 0).cast(axes.value.dtype)


def along_axis(f: OpCall, b: Batch) -> Sequence[Result] | None:
    data = f.present[0]
    if not f.only_batched(0) or not data.has_rank or (data.rank == 0 and f.name != "OneHot"):
        return None
    return f.along(b, axis=shift(f.value("axis", onnx.default_of(f.name, "axis"))))


def along_axes(f: OpCall, b: Batch) -> Sequence[Result] | None:
    """Rule of canonical gradients with an attribute `axes`."""
    return f.along(b, axes=[shift(axis) for axis in f.value("axes", [])]) if f.only_batched(0) else None


def last_axes(f: OpCall, b: Batch) -> Sequence[Result] | None:
    """Rule of ops on the last axes, or on the last two."""
    return f.along(b) if f.only_batched(0) else None


def axis_operand(f: OpCall, b: Batch) -> Sequence[Result] | None:
    data, axis = f.present
    return f.again(b, [data.value, shift_operand(b, axis)]) if f.only_batched(0) else None


def reduction(f: OpCall, b: Batch) -> Sequence[Result] | None:
    data, axes = (*f.operands, None)[:2]
    assert data is not None
    if not f.only_batched(0) or not data.has_rank:
        return None
    known = None if axes is None else axes.constant
    if axes is not None and known is None and not f.value("noop_with_empty_axes", 0) and not _is_some(axes):
        return None  # all axes of the rows if there are none at run time
    if axes is not None and (known is None or known.size):
        return f.again(b, [data.value, shift_operand(b, axes)])
    if f.value("noop_with_empty_axes", 0):
        return f.along(b)
    if data.rank == 0:
        column = data.value.unsqueeze([1])
        return f.again(b, [column, b.e.ints([1])], keepdims=0)
    return f.again(b, [data.value, b.e.ints(range(1, data.rank + 1))])


def _is_some(axes: Operand) -> bool:
    return axes.has_rank and isinstance(axes.shape[0], int) and axes.shape[0] > 0


def all_along_axis(f: OpCall, b: Batch) -> Sequence[Result] | None:
    """Rule of ops all of whose operands get the new axis; `axis` counts from it."""
    if not all(x.has_rank for x in f.present):
        return None
    return f.again(b, [b.expand(x) for x in f.present], axis=shift(f.value("axis", 0)))


def dft(f: OpCall, b: Batch) -> Sequence[Result] | None:
    axis = f.operand(2)
    if axis is None or not f.only_batched(0):
        return f.along(b) if f.only_batched(0) else None
    length = f.operand(1)
    return f.again(b, [f.present[0].value, None if length is None else length.value, shift_operand(b, axis)])


def center_crop_pad(f: OpCall, b: Batch) -> Sequence[Result] | None:
    data = f.present[0]
    if not f.only_batched(0) or not data.has_rank:
        return None
    return f.along(b, axes=[shift(axis) for axis in f.value("axes", range(data.rank))])


def mean_variance(f: OpCall, b: Batch) -> Sequence[Result] | None:
    """Compute the formula of the op, as kernels know few axes."""
    x = f.present[0].value
    axes = b.e.ints([shift(axis) for axis in f.value("axes", (0, 2, 3))])
    mean = x.apply(onnx.ReduceMeanOp, axes)
    variance = x.square().apply(onnx.ReduceMeanOp, axes) - mean.square()
    return [(x - mean) / (variance.sqrt() + 1e-9)]


def quantize(f: OpCall, b: Batch) -> Sequence[Result] | None:
    if not f.only_batched(0):
        return None
    scale = f.present[1]
    if not scale.has_rank or scale.rank > 1:
        return None
    return f.along(b) if scale.rank == 0 else f.along(b, axis=shift(f.value("axis", 1)))


def compress(f: OpCall, b: Batch) -> Sequence[Result] | None:
    data, condition = f.present
    if not f.only_batched(0) or not data.has_rank:
        return None
    axis = f.value("axis", None)
    if axis is not None:
        return f.along(b, axis=shift(axis))
    sizes = b.sizes(data.value)
    return f.again(b, [b.reshape(data.value, [b.size, b.product(sizes[1:])]), condition.value], axis=1)


RULES: Mapping[str, BatchingRule] = MappingProxyType(
    {
        **dict.fromkeys(_ALONG_AXIS, along_axis),
        **dict.fromkeys(traits.REDUCTIONS, reduction),
        **dict.fromkeys(
            ("grad.take_window", "grad.resize_backward", "grad.resize_backward_dynamic"), along_axes
        ),
        **dict.fromkeys(("Det", "Trilu"), last_axes),
        **dict.fromkeys(("CumProd", "CumSum"), axis_operand),
        **dict.fromkeys(("DequantizeLinear", "QuantizeLinear"), quantize),
        "CenterCropPad": center_crop_pad,
        "Compress": compress,
        "Concat": all_along_axis,
        "DFT": dft,
        "MeanVarianceNormalization": mean_variance,
    }
)
