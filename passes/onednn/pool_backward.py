"""MaxPoolBackward and AvgPoolBackward, by the derivatives of ONNX's pools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from dialects.grad.geometry import Window
from dialects.onednn.pool_backward import AvgPoolGradientOp, MaxPoolGradientOp
from dialects.onednn.windows import known_pads
from dialects.onnx import ops as onnx
from dialects.support import layouts, shapes
from dialects.support.dtypes import of_mlir
from dialects.support.shapes import Dim, element_type_of, shape_of
from passes.conv.run_time_pads import Sides, padded, same_sides
from passes.emit.expressions import Expr, Operators
from passes.emit.shape_math import ShapeMath
from passes.onednn.channels import reordered
from passes.vjp import pool
from passes.vjp.forward import Forward


def max_pool_backward(op: MaxPoolGradientOp, e: Operators) -> Sequence[Expr]:
    """The places of the maxima, of data with the lowest number around it: what is not data gets nothing."""
    src, diff_dst = (e(reordered(value, op.data_format, "NCX", e.emit)) for value in op.operands)
    least = e.scalar(-np.inf, src)
    if e.strict_ieee:
        src = (src >= least).where(src, least)
    math, spatial, n = ShapeMath(e.emit), range(2, src.rank), len(op.windows)
    sides = _sides(op, src, diff_dst, math)
    begin = sides[0]
    around = e(padded(src.value, "NCX", sides, e.emit, least.value))
    window: dict[str, Any] = {"kernel_shape": op.kernel, "strides": op.strides}
    if any(step > 1 for step in op.steps):
        window["dilations"] = op.steps
    _, found = e.emit.all(onnx.MaxPoolOp(around.value, **window))
    zeros, counts = math.vector([0] * n), math.sizes(diff_dst.value, spatial)
    places = e(e.emit(onnx.SliceOp(found, zeros, counts, math.vector(spatial))))
    sums = pool.scattered(diff_dst, places, around, e)
    end = math.add(begin, math.sizes(src.value, spatial))
    inner = e.emit(onnx.SliceOp(sums.value, begin, end, math.vector(spatial)))
    return [e(reordered(inner, "NCX", op.data_format, e.emit))]


def _sides(op: MaxPoolGradientOp, src: Expr, diff_dst: Expr, math: ShapeMath) -> Sides:
    """Pads with which there are at least the windows of diff_dst."""
    pads = known_pads(op.pads(src.shape[2:]))
    if pads is None:
        return same_sides(src.value, "NCX", op.windows, op.auto_pad == "same_upper", math)
    rows = zip(pads, op.windows, src.shape[2:], diff_dst.shape[2:], strict=True)
    reach = [(b, max(end, _reach(w, x, y, b, end))) for (b, end), w, x, y in rows]
    return math.vector([b for b, _ in reach]), math.vector([end for _, end in reach])


def _reach(window: Window, x: Dim, y: Dim, begin: int, end: int) -> int:
    """Pads at the end that hold the last window; of unknown sizes, of one more than fits."""
    if isinstance(x, int) and isinstance(y, int):
        return window.full_size(y) - x - begin
    return end + window.stride - 1


def avg_pool_backward(op: AvgPoolGradientOp, e: Operators) -> Sequence[Expr]:
    """The derivative of a mean reads of its operand nothing but the shape."""
    diff_dst = e(reordered(op.diff_dst, op.data_format, "NCX", e.emit))
    like = _image(op, diff_dst, e)
    attributes = {
        "kernel_shape": op.kernel,
        "strides": op.strides,
        "count_include_pad": int(not op.value("exclude_pad")),
    }
    pads = known_pads(op.pads(like.shape[2:]))
    if pads is None:
        attributes["auto_pad"] = op.auto_pad.upper()
    else:
        rows = zip(pads, op.windows, like.shape[2:], diff_dst.shape[2:], strict=True)
        ends = [_known_reach(w, x, y, *pad) for pad, w, x, y in rows]
        attributes["pads"] = [begin for begin, _ in pads] + ends
    forward = Forward(e, [like], attributes)
    (gradient,) = pool.RULES["AveragePool"](forward, [diff_dst], e)
    assert isinstance(gradient, Expr)
    return [e(reordered(gradient.value, "NCX", op.data_format, e.emit))]


def _known_reach(window: Window, x: Dim, y: Dim, begin: int, end: int) -> int:
    return max(end, _reach(window, x, y, begin, end)) if isinstance(x, int) and isinstance(y, int) else end


def _image(op: AvgPoolGradientOp, diff_dst: Expr, e: Operators) -> Expr:
    """A tensor of the shape of diff_src, which nobody reads."""
    math, n = ShapeMath(e.emit), len(op.kernel)
    inferred = layouts.reorder(shape_of(op.diff_src), op.data_format, "NCX")
    if op.src_shape_input is not None:
        sizes = math.take(math.as_int64(op.src_shape_input), layouts.spatial_axes(op.data_format, n))
    else:
        known = shapes.static(inferred[2:])
        if known is None:
            raise op.error("the spatial sizes of diff_src are not given", expected="src_shape")
        sizes = math.vector(known)
    shape = math.concat([math.sizes(diff_dst.value, [0, 1]), sizes])
    dtype = of_mlir(element_type_of(op.diff_dst))
    assert dtype is not None
    image = e(e.emit(onnx.ConstantOfShapeOp(shape, value=np.zeros(1, dtype.numpy))))
    return image.assumed(inferred)


CONVERSIONS: Mapping[str, Callable[..., Sequence[Expr]]] = MappingProxyType(
    {"AvgPoolBackward": avg_pool_backward, "MaxPoolBackward": max_pool_backward}
)
"""Kind -> what makes its results of the op itself."""
