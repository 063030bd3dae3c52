"""MaxPoolBackward and AvgPoolBackward, by the derivatives of ONNX's pools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from dialects.grad.geometry import Window
from dialects.onednn.pool_backward import AvgPoolGradientOp, MaxPoolGradientOp
from dialects.onednn.windows import static_pads
from dialects.onnx import ops as onnx
from dialects.support import layouts, shapes
from dialects.support.dtypes import known_dtype
from dialects.support.shapes import Dim, element_type_of, shape_of
from passes.autodiff.common.primal import Primal
from passes.autodiff.rules import pool
from passes.builder.values import Builder, Value
from passes.conv.dynamic_pads import conv_axes, same_sides
from passes.lower_onednn.channels import to_layout


def max_pool_backward(op: MaxPoolGradientOp, e: Builder) -> Sequence[Value]:
    """Lower the gradient; for dynamic pads, src is padded."""
    src, diff_dst = map(e, op.operands)
    layout, windows = op.data_format, op.windows
    pads = static_pads(op.pads(op.channels_first(op.src)[2:]))
    if pads is not None:
        return [pool.by_first_largest(src, diff_dst, conv_axes(windows, pads), None, layout)]
    sides = same_sides(op.src, layout, windows, op.auto_pad == "same_upper", e.emit)
    axes = conv_axes(windows, [(0, 0)] * len(windows))
    return [pool.by_first_largest(src, diff_dst, axes, sides, layout)]


def _end_pad(window: Window, x: Dim, y: Dim, begin: int, end: int) -> int:
    """Return the end pad that contains the last window; for unknown sizes, one window more than fits."""
    if isinstance(x, int) and isinstance(y, int):
        return window.full_size(y) - x - begin
    return end + window.stride - 1


def avg_pool_backward(op: AvgPoolGradientOp, e: Builder) -> Sequence[Value]:
    """Lower the gradient by the VJP rule, which reads only the shape of the operand."""
    diff_dst = e(to_layout(op.diff_dst, op.data_format, "NCX", e.emit))
    like = _image(op, diff_dst, e)
    attributes: dict[str, Any] = {
        "kernel_shape": op.kernel,
        "strides": op.strides,
        "count_include_pad": int(not op.value("exclude_pad")),
    }
    pads = static_pads(op.pads(like.shape[2:]))
    if pads is None:
        attributes["auto_pad"] = op.auto_pad.upper()
    else:
        rows = list(zip(pads, op.windows, like.shape[2:], diff_dst.shape[2:], strict=True))
        ends = [_static_end_pad(w, x, y, *pad) for pad, w, x, y in rows]
        attributes["pads"] = [begin for begin, _ in pads] + ends
        if op.value("exclude_pad") and any(_may_overhang(w, x, y) for _, w, x, y in rows):
            attributes["ceil_mode"] = 1
    forward = Primal(e, [like], attributes)
    (gradient,) = pool.RULES["AveragePool"](forward, [diff_dst], e)
    assert isinstance(gradient, Value)
    return [e(to_layout(gradient.value, "NCX", op.data_format, e.emit))]


def _static_end_pad(window: Window, x: Dim, y: Dim, begin: int, end: int) -> int:
    return max(end, _end_pad(window, x, y, begin, end)) if isinstance(x, int) and isinstance(y, int) else end


def _may_overhang(window: Window, x: Dim, y: Dim) -> bool:
    """Return whether the last window may end after the pads at run time: if the size is rounded up."""
    return window.stride > 1 and not (isinstance(x, int) and isinstance(y, int))


def _image(op: AvgPoolGradientOp, diff_dst: Value, e: Builder) -> Value:
    """Return a tensor of the shape of diff_src, whose values are not read."""
    emit, n = e.emit, len(op.kernel)
    inferred = layouts.reorder(shape_of(op.diff_src), op.data_format, "NCX")
    if op.src_shape_input is not None:
        sizes = emit.take(emit.as_int64(op.src_shape_input), layouts.spatial_axes(op.data_format, n))
    else:
        known = shapes.static(inferred[2:])
        if known is None:
            raise op.error("the spatial sizes of diff_src are not given", expected="src_shape")
        sizes = emit.ints(known)
    shape = emit.concat([emit.sizes(diff_dst.value, [0, 1]), sizes])
    dtype = known_dtype(element_type_of(op.diff_dst))
    image = e(e.emit(onnx.ConstantOfShapeOp(shape, value=np.zeros(1, dtype.numpy))))
    return image.assume_shape(inferred)


CONVERSIONS: Mapping[str, Callable[..., Sequence[Value]]] = MappingProxyType(
    {"AvgPoolBackward": avg_pool_backward, "MaxPoolBackward": max_pool_backward}
)
"""Kind -> function that lowers the op."""
