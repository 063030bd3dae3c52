"""The derivatives of pools.

The gradient of a mean is a convolution's gradient with respect to its data, for weights that are all one.
That of a maximum goes to the first place of each window that has it, in row-major order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from dialects.grad.geometry import ConvAxis, Window
from dialects.onednn.windows import same_pads
from dialects.onnx import ops as onnx
from dialects.support.shapes import static
from passes.emit.expressions import Expr, Operators
from passes.emit.shape_math import ShapeMath
from passes.emit.tensors import product, reshape, size_of
from passes.vjp.conv import Convolution
from passes.vjp.forward import Forward, Gradient, Rule, refusal
from passes.vjp.places import numpy_of


def max_pool(f: Forward, g: Sequence[Expr], e: Operators) -> Sequence[Gradient]:
    """What is scattered to the places that the op tells; several windows may have one."""
    given = {name: value for name, value in f.attributes.items() if name != "storage_order"}
    _, places = e.emit.all(onnx.MaxPoolOp(f.x.value, **given))
    return (scattered(g[0], e(places), f.x, e),)


def scattered(g: Expr, places: Expr, like: Expr, e: Operators) -> Expr:
    """Sums of what goes to the same place; places count through a whole tensor of another one's shape."""
    sizes, line = e.shape(like), e.ints([-1])
    zeros = _zeros(sizes, like, e)
    flat = [value.apply(onnx.ReshapeOp, line) for value in (zeros, places, g)]
    sums = flat[0].apply(onnx.ScatterElementsOp, flat[1], flat[2], axis=0, reduction="add")
    return sums.apply(onnx.ReshapeOp, sizes)


def _zeros(sizes: Expr, like: Expr, e: Operators) -> Expr:
    return sizes.apply(onnx.ConstantOfShapeOp, value=np.zeros(1, numpy_of(like)))


def global_max_pool(f: Forward, g: Sequence[Expr], e: Operators) -> Sequence[Gradient]:
    """One window of all positions."""
    x = f.x
    rows = x.apply(onnx.FlattenOp, axis=2)
    places = rows.apply(onnx.ArgMaxOp, axis=1, keepdims=1)
    zeros = _zeros(e.shape(rows), x, e)
    column = g[0].apply(onnx.FlattenOp, axis=2)
    found = zeros.apply(onnx.ScatterElementsOp, places, column, axis=1)
    return (found.apply(onnx.ReshapeOp, e.shape(x)),)


def global_average_pool(f: Forward, g: Sequence[Expr], e: Operators) -> Sequence[Gradient]:
    x = f.x
    spatial = static(x.shape[2:])
    if spatial is not None:
        share = g[0] * (1 / max(1, math.prod(spatial)))
    else:
        count = ShapeMath(e.emit).sizes(x.value, range(2, x.rank))
        product = e(count).apply(onnx.ReduceProdOp, keepdims=0)
        share = g[0] / product.cast(x.dtype)
    return (share.apply(onnx.ExpandOp, e.shape(x)),)


def average_pool(f: Forward, g: Sequence[Expr], e: Operators) -> Sequence[Gradient]:
    """Each window gives every position that it has a share."""
    axes = _axes(f)
    shares, fitting = _shares(f, g[0], axes, e), _fitting(f, g[0], axes)
    kernel = [axis.window.kernel for axis in axes]
    x, channels = f.x, f.x.shape[1]
    known = isinstance(channels, int)
    count = channels if isinstance(channels, int) else 1
    if not known:
        x, shares = _one_channel(x, e), _one_channel(shares, e)
    ones = e(e.emit.constant(np.ones((count, 1, *kernel), numpy_of(shares))))
    found = Convolution(fitting, count).by_image(shares, ones, x)
    return (found if known else found.apply(onnx.ReshapeOp, e.shape(f.x)),)


def _one_channel(value: Expr, e: Operators) -> Expr:
    """(N, C, X...) as (N C, 1, X...)."""
    sizes = [size_of(e.emit, value.value, axis) for axis in range(value.rank)]
    return e(reshape(e.emit, value.value, [product(e.emit, sizes[:2]), 1, *sizes[2:]]))


def _axes(f: Forward) -> list[ConvAxis]:
    kernel = tuple(f.value("kernel_shape"))
    n, word = len(kernel), f.value("auto_pad", "NOTSET")
    strides, dilations = (tuple(f.value(name) or (1,) * n) for name in ("strides", "dilations"))
    pads = tuple(f.value("pads") or (0,) * 2 * n) if word == "NOTSET" else (0,) * 2 * n
    windows = [Window(*row) for row in zip(kernel, strides, dilations, strict=True)]
    sides = [*zip(pads[:n], pads[n:], strict=True)]
    if word.startswith("SAME"):
        found = [same_pads(w, x, word.lower()) for w, x in zip(windows, f.x.shape[2:], strict=True)]
        sides = [pad for pad in found if pad is not None]
        if len(sides) < n:
            raise refusal(f"auto_pad {word}", given="an unknown size", expected="a known one, or stride 1")
    return [ConvAxis(window, *pad) for window, pad in zip(windows, sides, strict=True)]


def _fitting(f: Forward, g: Expr, axes: Sequence[ConvAxis]) -> list[ConvAxis]:
    """With pads at the end that reach as far as the windows: `ceil_mode` may add one."""
    found = []
    for axis, x, y in zip(axes, f.x.shape[2:], g.shape[2:], strict=True):
        pad_end = axis.pad_end
        if isinstance(x, int) and isinstance(y, int):
            pad_end = max(pad_end, axis.window.full_size(y) - x - axis.pad_begin)
        elif f.value("ceil_mode", 0):
            raise refusal("ceil_mode", given="1 with unknown sizes", expected="known sizes")
        found.append(ConvAxis(axis.window, axis.pad_begin, pad_end))
    return found


def _shares(f: Forward, g: Expr, axes: Sequence[ConvAxis], e: Operators) -> Expr:
    """The cotangents over the numbers of positions that the windows divide by."""
    sizes = zip(axes, f.x.shape[2:], g.shape[2:], strict=True)
    counted = [_count(f, *given, index, g, e) for index, given in enumerate(sizes)]
    for count in counted:
        g = g * (1 / count) if isinstance(count, int) else g / count
    return g


def _count(f: Forward, axis: ConvAxis, x: object, y: object, index: int, g: Expr, e: Operators) -> int | Expr:
    """How many positions a window has along an axis: one number, or one for each."""
    includes, window = bool(f.value("count_include_pad", 0)), axis.window
    column = [-1 if i == index else 1 for i in range(g.rank - 2)]
    if not any(axis.pads) and not f.value("ceil_mode", 0):
        return window.kernel
    if isinstance(x, int) and isinstance(y, int):
        places = np.arange(y)[:, None] * window.stride + np.arange(window.kernel) * window.dilation
        low, high = (0, x + sum(axis.pads)) if includes else (axis.pad_begin, axis.pad_begin + x)
        counts = ((places >= low) & (places < high)).sum(1).clip(1)
        if (counts == window.kernel).all():
            return window.kernel
        return e(e.emit.constant(counts.astype(numpy_of(g)).reshape(1, 1, *column)))
    if includes:
        return window.kernel
    return _run_time_count(f, axis, index, g, e).apply(onnx.ReshapeOp, e.ints([1, 1, *column]))


def _run_time_count(f: Forward, axis: ConvAxis, index: int, g: Expr, e: Operators) -> Expr:
    """For each window, how many of its taps lie in the data."""
    window, sizes = axis.window, ShapeMath(e.emit)
    zero, one = (e(e.emit.constant(np.array(value, np.int64))) for value in (0, 1))
    count = e(sizes.sizes(g.value, [2 + index])).apply(onnx.SqueezeOp, e.ints([0]))
    starts = zero.apply(onnx.RangeOp, count, one) * window.stride - axis.pad_begin
    taps = e.ints([k * window.dilation for k in range(window.kernel)])
    places = starts.apply(onnx.UnsqueezeOp, e.ints([1])) + taps
    inside = (places >= 0) & (places < e(sizes.sizes(f.x.value, [2 + index])))
    return inside.cast(g.dtype).apply(onnx.ReduceSumOp, e.ints([1]), keepdims=0).at_least(1)


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "AveragePool": average_pool,
        "GlobalAveragePool": global_average_pool,
        "GlobalMaxPool": global_max_pool,
        "MaxPool": max_pool,
    }
)
"""ONNX op -> its rule."""
