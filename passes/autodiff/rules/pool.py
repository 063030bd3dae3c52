"""VJP rules of pools.

The gradient of a mean goes to all elements of its window and is linear; its own derivative is the mean. That
of a maximum goes to the first maximum of each window, in row-major order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from xdsl.dialects.builtin import f32

from dialects.grad.avg_pool import avg_pool_backward
from dialects.grad.conv import take_window
from dialects.grad.geometry import ConvAxis, Window
from dialects.grad.max_pool import max_pool_backward
from dialects.onnx import ops as onnx
from dialects.onnx.dims import TO_THE_END
from dialects.support import layouts
from dialects.support.shapes import static
from passes.autodiff.common.gather_adjoint import numpy_of
from passes.autodiff.common.primal import ZERO, Gradient, Primal, Rule
from passes.autodiff.rules.conv import Convolution, in_any_layout, window_axes
from passes.builder.budget import FREE_CONSTANTS
from passes.builder.values import Builder, Value
from passes.conv.dynamic_pads import Sides, pad_input
from passes.pool.argmax_indices import gather_maxima, zeros_of


def max_pool(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of MaxPool: scatter to the first maximum of each window; windows may share one."""
    axes, sides = window_axes(f, f.value("kernel_shape"))
    return (by_first_largest(f.x, g[0], axes, sides),)


def by_first_largest(
    x: Value, g: Value, axes: Sequence[ConvAxis], sides: Sides | None, layout: str = "NCX"
) -> Value:
    """Return the gradient of a maximum over windows; `sides` are run-time pads."""
    e, windows = x.e, [axis.window for axis in axes]
    begin = [0 if sides else axis.pad_begin for axis in axes]
    data = x.value
    if sides is not None:
        data = pad_input(data, layout, sides, e.emit, e.scalar(-np.inf, x).value)
    found = e.emit(max_pool_backward(data, g.value, windows, begin, layout))
    if sides is None:
        return e(found)
    emit, spatial = e.emit, layouts.spatial_axes(layout, len(windows))
    return e(e.emit(take_window(found, sides[0], emit.sizes(x.value, spatial), spatial)))


def max_pool_gradient(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """The gradient of diff_dst gathers the cotangent at the maxima."""
    diff_dst = f.operand(1)
    assert diff_dst is not None
    rows = zip(f.value("kernel"), f.value("strides"), f.value("dilations"), strict=True)
    windows = [Window(*row) for row in rows]
    return (ZERO, gather_maxima(g[0], f.x, diff_dst, windows, f.value("pads_begin")))


def global_max_pool(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of GlobalMaxPool: one window over all elements."""
    x = f.x
    rows = x.apply(onnx.FlattenOp, axis=2)
    places = rows.apply(onnx.ArgMaxOp, axis=1, keepdims=1)
    zeros = zeros_of(e.shape(rows), x, e)
    column = g[0].apply(onnx.FlattenOp, axis=2)
    found = zeros.apply(onnx.ScatterElementsOp, places, column, axis=1)
    return (found.apply(onnx.ReshapeOp, e.shape(x)),)


def global_average_pool(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    x = f.x
    spatial = static(x.shape[2:])
    if spatial is not None:
        share = g[0] * (1 / max(1, math.prod(spatial)))
    else:
        count = e.emit.sizes(x.value, range(2, x.rank))
        product = e(count).apply(onnx.ReduceProdOp, keepdims=0)
        share = g[0] / product.cast(x.dtype)
    return (share.apply(onnx.ExpandOp, e.shape(x)),)


def average_pool(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of AveragePool: each window's share to all its elements; a divisor may be below the tap count."""
    axes, sides = window_axes(f, f.value("kernel_shape"))
    return (_mean_backward(f, _rescale_divisors(f, g[0], axes, sides, e), axes, sides, e),)


def _mean_backward(f: Primal, y: Value, axes: Sequence[ConvAxis], sides: Sides | None, e: Builder) -> Value:
    """Return the gradient of a mean over all taps of each window."""

    def made(fitting: Sequence[ConvAxis], residue: Sequence[int]) -> Value:
        return e(e.emit(avg_pool_backward(y.value, fitting, residue, "NCX")))

    return Convolution(_fit_end_pads(f, y, axes), 1, sides).over_image(y, f.x, made)


def avg_pool_gradient(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """The op is linear; the gradient of diff_dst is the mean, with zeros in the padding."""
    lists = ("kernel", "strides", "dilations", "pads_begin", "pads_end")
    kernel, strides, dilations, begin, end = (f.value(name) for name in lists)
    steps = dilations if any(step > 1 for step in dilations) else None
    attributes = {"strides": strides, "dilations": steps, "pads": [*begin, *end], "count_include_pad": 1}
    return (g[0].apply(onnx.AveragePoolOp, kernel_shape=kernel, **attributes),)


def lp_pool(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """y^p = sum |x|^p: sign(x) |x|^(p - 1) times the sum of g / y^(p - 1)."""
    axes, sides = window_axes(f, f.value("kernel_shape"))
    taps = math.prod(axis.window.kernel for axis in axes)
    return (_power_slope(f) * _mean_backward(f, _over_norm(f, g[0]) * taps, axes, sides, e),)


def global_lp_pool(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    return (_power_slope(f) * _over_norm(f, g[0]),)


def _power_slope(f: Primal) -> Value:
    p = f.value("p", 2)
    match p:
        case 1:
            return f.x.sign()
        case 2:
            return f.x
        case _:
            return f.x.sign() * f.x.abs().apply(onnx.PowOp, p - 1)


def _over_norm(f: Primal, g: Value) -> Value:
    """Return g / y^(p - 1); a norm of 0 divides by 1."""
    y, p = f.y, f.value("p", 2)
    safe = y.equals(0).where(f.e.fill_like(1, y), y)
    match p:
        case 1:
            return g
        case 2:
            return g / safe
        case _:
            return g / safe.apply(onnx.PowOp, p - 1)


def max_unpool(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of MaxUnpool: a gather at flat indices of the result.

    With `output_shape`, runtimes and ONNX's reference index differently: the op itself locates its elements.
    """
    places = f.operand(1)
    assert places is not None
    if f.operand(2) is not None:
        return (_gather_by_unpooling(f, g[0], e), ZERO, ZERO)
    line = g[0].apply(onnx.ReshapeOp, e.ints([-1]))
    return (line.apply(onnx.GatherOp, places, axis=0).assume_shape(f.x.shape), ZERO)


_DIGIT = 2**23
"""f32 is exact to twice this number."""


def _gather_by_unpooling(f: Primal, g: Value, e: Builder) -> Value:
    """Unpool the element numbers, from 1, as digits that f32 represents, to find each source (0: none)."""
    line, one = e.ints([-1]), e.ints([1])
    zero, unit = (e(e.emit.constant(np.array(value, np.int64))) for value in (0, 1))
    count = f.x.apply(onnx.SizeOp)
    numbers = zero.apply(onnx.RangeOp, count, unit) + 1
    known = static(f.x.shape)
    if known is not None and math.prod(known) < _DIGIT:
        source = _unpool(f, numbers)
    else:
        tens = numbers / _DIGIT
        source = _unpool(f, numbers - tens * _DIGIT) + _unpool(f, tens) * _DIGIT
    size = count.apply(onnx.ReshapeOp, one) + 1
    into = (value.apply(onnx.ReshapeOp, line) for value in (source, g))
    sums = zeros_of(size, g, e).apply(onnx.ScatterElementsOp, *into, axis=0, reduction="add")
    own = sums.apply(onnx.SliceOp, one, e.ints([TO_THE_END]), e.ints([0]))
    return own.apply(onnx.ReshapeOp, e.shape(f.x), allowzero=None if known else 1).assume_shape(f.x.shape)


def _unpool(f: Primal, numbers: Value) -> Value:
    """Apply the op to integers below 2^24 instead of its data."""
    shaped = numbers.cast(f32).apply(onnx.ReshapeOp, f.e.shape(f.x), allowzero=1).assume_shape(f.x.shape)
    return shaped.apply(onnx.MaxUnpoolOp, f.operand(1), f.operand(2), **f.attributes).as_int64()


def _fit_end_pads(f: Primal, g: Value, axes: Sequence[ConvAxis]) -> list[ConvAxis]:
    """Return axes with end pads up to the last window, which `ceil_mode` may extend; for dynamic sizes,
    cropping does it."""
    found: list[ConvAxis] = []
    for axis, x, y in zip(axes, f.x.shape[2:], g.shape[2:], strict=True):
        pad_end = axis.pad_end
        if isinstance(x, int) and isinstance(y, int):
            pad_end = max(pad_end, axis.window.full_size(y) - x - axis.pad_begin)
        found.append(ConvAxis(axis.window, axis.pad_begin, pad_end))
    return found


def _rescale_divisors(
    f: Primal, g: Value, axes: Sequence[ConvAxis], sides: Sides | None, e: Builder
) -> Value:
    """Scale the cotangents by taps / divisor of their windows."""
    known = np.ones(1)
    for index, axis in enumerate(axes):
        if sides is not None:
            begin, end = (e(side).apply(onnx.GatherOp, e.ints([index]), axis=0) for side in sides)
            g = g * (axis.window.kernel / _run_time_count(f, axis, begin, end, index, g, e))
            continue
        count = _count(f, axis, index, g)
        if count is None:
            g = g * (axis.window.kernel / _run_time_count(f, axis, *axis.pads, index, g, e))
        elif (count != axis.window.kernel).any():
            part = (axis.window.kernel / count).reshape(_column(index, g))
            if known.size * part.size > FREE_CONSTANTS:
                g, known = _scale_by(g, known), np.ones(1)
            known = known * part
    return _scale_by(g, known)


def _scale_by(g: Value, factors: np.ndarray) -> Value:
    return g if (factors == 1).all() else g * g.e(g.e.emit.constant(factors.astype(numpy_of(g))))


def _count(f: Primal, axis: ConvAxis, index: int, g: Value) -> np.ndarray | None:
    """Return the divisor of each window along an axis; None for dynamic sizes."""
    window, x, y = axis.window, f.x.shape[2 + index], g.shape[2 + index]
    ceil, includes = bool(f.value("ceil_mode", 0)), bool(f.value("count_include_pad", 0))
    if not ceil and (includes or not any(axis.pads)):
        return np.full(1, window.kernel)
    if not isinstance(x, int) or not isinstance(y, int):
        return None
    if y > FREE_CONSTANTS:
        return None
    first, size = (0, x + sum(axis.pads)) if includes else (axis.pad_begin, x)
    return window.taps_within(np.arange(y) * window.stride - first, size).clip(1)


def _column(index: int, g: Value) -> list[int]:
    return [1, 1, *(-1 if i == index else 1 for i in range(g.rank - 2))]


def _run_time_count(
    f: Primal, axis: ConvAxis, begin: int | Value, end: int | Value, index: int, g: Value, e: Builder
) -> Value:
    """Return for each window the number of its taps in the data, or in counted padding, too."""
    emit, window = e.emit, axis.window
    zero, one = (e(e.emit.constant(np.array(value, np.int64))) for value in (0, 1))
    count = e(emit.sizes(g.value, [2 + index])).squeeze([0])
    starts = zero.apply(onnx.RangeOp, count, one) * window.stride - begin
    low, high = zero, e(emit.sizes(f.x.value, [2 + index]))
    if f.value("count_include_pad", 0):
        low, high = zero - begin, high + end
    y = g.shape[2 + index]
    listed = window.kernel * (y if isinstance(y, int) else 1) <= FREE_CONSTANTS
    if listed:
        found = (
            _taps_within(window, starts, low, high)
            .cast(g.dtype)
            .apply(onnx.ReduceSumOp, e.ints([1]), keepdims=0)
        )
    else:
        found = _count_taps_within(window, starts, low, high).cast(g.dtype)
    return found.at_least(1).apply(onnx.ReshapeOp, e.ints(_column(index, g)))


def _taps_within(window: Window, starts: Value, low: Value, high: Value) -> Value:
    """Return a mask of the taps of each window in a range."""
    e = starts.e
    taps = e.ints([k * window.dilation for k in range(window.kernel)])
    places = starts.unsqueeze([1]) + taps
    return (places >= low) & (places < high)


def _count_taps_within(window: Window, starts: Value, low: Value, high: Value) -> Value:
    """Return their number by `Window.taps_within`'s formula, for too many taps to list."""
    d, most = window.dilation, window.kernel
    before, behind = (((edge - starts).at_least(0) + (d - 1)) / d for edge in (low, high))
    return behind.at_most(most) - before.at_most(most)


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "AveragePool": average_pool,
        "GlobalAveragePool": global_average_pool,
        "GlobalLpPool": global_lp_pool,
        "GlobalMaxPool": global_max_pool,
        "LpPool": lp_pool,
        "MaxPool": max_pool,
        "MaxUnpool": max_unpool,
    }
)
"""ONNX op -> its rule."""

GRADIENT_RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "grad.avg_pool_backward": in_any_layout(avg_pool_gradient, laid_out=1, laid_out_result=True),
        "grad.max_pool_backward": in_any_layout(max_pool_gradient, laid_out=2, laid_out_result=True),
    }
)
"""Canonical gradient -> its rule."""
