"""AvgPool and MaxPool in ONNX.

Data that is not NCX is transposed; `assign-layout` removes Transposes that do not pay.

1. `ceil` is `floor` with more padding at the end: onnxruntime's own omits windows that begin in the padding.
2. Pads as wide as the kernel (quirk pads-as-wide-as-the-kernel) and dynamic pads are a Pad, for a maximum
   with the lowest number. A mean without the padding is then the quotient of the means of the data and of
   equally padded ones.
3. A window of padding alone has the lowest number of f32, which as a half type is -inf; it is raised to the
   lowest number of the half type.
4. With `strict_ieee`, NaN and -inf are raised to the lowest number first, which oneDNN's maximum ignores as
   well. Runtimes give NaN or ignore it, depending on the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from xdsl.ir import SSAValue

from dialects.grad.geometry import Pads, Window
from dialects.onednn.pool import AveragePoolingOp, MaxPoolingOp, PoolingOp
from dialects.onednn.windows import positions, static_pads
from dialects.onnx import ops as onnx
from dialects.onnx.dims import TO_THE_END
from dialects.support import layouts
from dialects.support.dtypes import HALVES, name_of
from dialects.support.shapes import Dim, element_type_of
from passes.builder.values import Builder, Value
from passes.conv.dynamic_pads import Sides, pad_input, same_sides
from passes.lower_onednn.channels import to_layout


def average(op: AveragePoolingOp, e: Builder) -> Sequence[Value]:
    pads = _attribute_pads(op)
    if pads is not None:
        counted = int(not op.exclude_pad and any(pads))
        return [_back(op, _mean(op, _data(op, e), pads=pads, count_include_pad=counted))]
    sides, layout = _sides(op, e), op.data_format
    total = _mean(op, e(to_layout(_pad_unfused(op, sides, e), layout, "NCX", e.emit)))
    if not op.exclude_pad:
        return [_back(op, total)]
    ones = e(pad_input(_ones(op, e).value, "NCX", sides, e.emit))
    return [_back(op, total / _mean(op, ones))]


def _pad_unfused(op: AveragePoolingOp, sides: Sides, e: Builder) -> SSAValue:
    """Zero-pad the data. One more zero, sliced off again, prevents the quirk pad-before-average-pool."""
    layout, (begin, end) = op.data_format, sides
    if _floor_pads(op) is None:
        return pad_input(op.src, layout, sides, e.emit)
    emit, axes = e.emit, layouts.spatial_axes(layout, len(op.kernel))
    one = emit.ints([1] * len(axes))
    wider = pad_input(op.src, layout, (emit.add(begin, one), end), e.emit)
    return e.emit(onnx.SliceOp(wider, one, emit.ints([TO_THE_END] * len(axes)), emit.ints(axes)))


def maximum(op: MaxPoolingOp, e: Builder) -> Sequence[Value]:
    src = e(op.src)
    least = e.scalar(op.option, src)
    if e.strict_ieee:
        src = (src >= least).where(src, least)
    pads = _attribute_pads(op)
    if pads is None:
        src = e(pad_input(src.value, op.data_format, _sides(op, e), e.emit, least.value))
    data = e(to_layout(src.value, op.data_format, "NCX", e.emit))
    dilations = {"dilations": op.steps} if any(step > 1 for step in op.steps) else {}
    given = {} if pads is None else {"pads": pads}
    made = data.apply(onnx.MaxPoolOp, **_window(op), **dilations, **given)
    if name_of(element_type_of(op.src)) in HALVES and op.has_empty_windows():
        made = made.at_least(least)
    return [_back(op, made)]


def _mean(op: AveragePoolingOp, data: Value, **attributes: Any) -> Value:
    return data.apply(onnx.AveragePoolOp, **_window(op), **attributes)


def _window(op: PoolingOp) -> dict[str, Any]:
    return {"kernel_shape": op.kernel, "strides": op.strides}


def _data(op: PoolingOp, e: Builder) -> Value:
    return e(to_layout(op.src, op.data_format, "NCX", e.emit))


def _back(op: PoolingOp, made: Value) -> Value:
    return made.e(to_layout(made.value, "NCX", op.data_format, made.e.emit))


def _ones(op: PoolingOp, e: Builder) -> Value:
    """Return an image of ones with one channel."""
    emit = e.emit
    spatial = layouts.spatial_axes(op.data_format, len(op.kernel))
    shape = emit.concat([emit.ints([1, 1]), emit.sizes(op.src, spatial)])
    return e.scalar(1, e(op.src)).apply(onnx.ExpandOp, e(shape))


def _attribute_pads(op: PoolingOp) -> list[int] | None:
    """Return the pads as ONNX's attribute; None if they are dynamic or onnxruntime rejects them."""
    pads = _floor_pads(op)
    if pads is None or any(max(pair) >= k or min(pair) < 0 for pair, k in zip(pads, op.kernel, strict=True)):
        return None
    begin, end = zip(*pads, strict=True)
    return [*begin, *end]


def _floor_pads(op: PoolingOp) -> list[Pads] | None:
    """Return the pads for which rounding down gives every position."""
    pads = static_pads(op.pads())
    if pads is None or not op.rounds_up:
        return pads
    sizes = op.channels_first(op.src)[2:]
    return [_ceil_pads(*axis) for axis in zip(op.windows, sizes, pads, strict=True)]


def _ceil_pads(window: Window, size: Dim, pads: Pads) -> Pads:
    """Extend the end pad to the end of the last window; for an unknown size, enough for any."""
    begin, end = pads
    count = positions(window, size, pads, ceil=True)
    if isinstance(size, int) and isinstance(count, int):
        return begin, max(end, window.full_size(count) - size - begin)
    return begin, end + window.stride - 1


def _sides(op: PoolingOp, e: Builder) -> Sides:
    emit, pads = e.emit, _floor_pads(op)
    if pads is None:
        return same_sides(op.src, op.data_format, op.windows, op.auto_pad == "same_upper", emit)
    begin, end = zip(*pads, strict=True)
    return emit.ints(begin), emit.ints(end)


CONVERSIONS: Mapping[str, Callable[..., Sequence[Value]]] = MappingProxyType(
    {"AvgPool": average, "MaxPool": maximum}
)
