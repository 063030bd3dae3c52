"""Interpolate in ONNX.

1. `nearest` gathers along each axis, in any order of axes. The index ((2y + 1) X) div (2Y) is computed with
   integers: Resize, with float coordinates, is one off at some ties.
2. `linear` is ONNX's Resize to sizes, channels first. It is two gathers along each axis with `strict_ieee`,
   as a Resize multiplies neighbours by weights of 0, and for axes so long that onnxruntime's f32 coordinates
   are too inaccurate: at 65,537 positions by 2e-3 of a step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from dialects.onednn.interpolate import InterpolationOp, exact_ratio
from dialects.onnx import ops as onnx
from dialects.support.shapes import Dim, shape_of
from passes.builder.op_builder import OpBuilder
from passes.builder.values import Builder, Value
from passes.lower_onednn.channels import to_layout

LONG = 2**12
"""Limit on the positions for f32 coordinates: at 384 they are off by 4e-5 of a step, at 1,024 by 9e-5.
Gathers, which are exact, take 8 times as long on an image (16x320x320 to 416x416: 36 ms and 4.5). If source
and result sizes differ by a power of two, f32 is exact."""


@dataclass(frozen=True)
class Taps:
    """Positions before and after each output of an axis, and the weight of the latter in f32; the last two
    are None for `nearest`."""

    lower: Value
    upper: Value | None = None
    fraction: Value | None = None


def interpolate(op: InterpolationOp, e: Builder) -> Sequence[Value]:
    if op.mode != "nearest" and not e.strict_ieee and _has_exact_coordinates(op):
        return [_by_resize(op, e)]
    value = e(op.src)
    for index, axis in enumerate(op.axes):
        if not _is_identity(op, index):
            value = _along(value, axis, _taps(op, index, e), e)
    return [value]


def _is_identity(op: InterpolationOp, index: int) -> bool:
    size = shape_of(op.src)[op.axes[index]]
    return isinstance(size, int) and op.axis_size(index, size) == size


def _has_exact_coordinates(op: InterpolationOp) -> bool:
    """Return whether f32 coordinates are accurate along all axes; unknown sizes are assumed to be small."""
    sizes = [shape_of(op.src)[axis] for axis in op.axes]
    pairs = ((x, op.axis_size(index, x)) for index, x in enumerate(sizes))
    return all(_is_near(op.coordinate_transformation_mode, x, y) for x, y in pairs)


def _is_near(mode: str, x: Dim, y: Dim) -> bool:
    if not isinstance(x, int) or not isinstance(y, int) or x <= LONG:
        return True
    ratio = Fraction(x, y) if mode == "half_pixel" else Fraction(x - 1, max(y - 1, 1))
    return all(part & (part - 1) == 0 for part in ratio.as_integer_ratio())


def _by_resize(op: InterpolationOp, e: Builder) -> Value:
    if all(_is_identity(op, index) for index in range(len(op.axes))):
        return e(op.src)
    emit = e.emit
    data = to_layout(op.src, op.data_format, "NCX", e.emit)
    sizes = emit.concat([emit.sizes(data, (0, 1)), *(_size(op, i, emit) for i in range(len(op.axes)))])
    mode = op.coordinate_transformation_mode
    resized = onnx.ResizeOp(data, None, None, sizes, mode="linear", coordinate_transformation_mode=mode)
    return e(to_layout(e.emit(resized), "NCX", op.data_format, e.emit))


def _size(op: InterpolationOp, index: int, emit: OpBuilder) -> SSAValue:
    """Return Y of an axis as an int64 vector of one element."""
    axis = op.axes[index]
    known = op.axis_size(index, shape_of(op.src)[axis])
    if isinstance(known, int):
        return emit.ints([known])
    if op.sizes_input is not None:
        return emit.take(emit.as_int64(op.sizes_input), [index])
    size, scale = emit.sizes(op.src, [axis]), op.scales[index]
    ratio = exact_ratio(scale)
    if ratio is not None:
        scaled = emit.mul(size, emit.ints([ratio.numerator]))
        return emit.max(emit.div(scaled, emit.ints([ratio.denominator])), 1)
    wide = emit(onnx.CastOp(size, to=f32))
    product = emit(onnx.MulOp(wide, emit.constant(np.array([scale], np.float32))))
    return emit.max(emit.as_int64(product), 1)


def _taps(op: InterpolationOp, index: int, e: Builder) -> Taps:
    x = shape_of(op.src)[op.axes[index]]
    y = op.axis_size(index, x)
    if isinstance(x, int) and isinstance(y, int):
        lower, upper, fraction = op.rule.sampling(x, y).taps()
        first = _positions(lower, e)
        if op.mode == "nearest":
            return Taps(first)
        return Taps(first, _positions(upper, e), e(e.emit.constant(fraction.astype(np.float32))))
    return _run_time_taps(op, index, e)


def _positions(found: np.ndarray, e: Builder) -> Value:
    return e(e.emit.constant(found.astype(np.int64)))


def _run_time_taps(op: InterpolationOp, index: int, e: Builder) -> Taps:
    """Return the taps for t = numerator / denominator: ((2y + 1) X - Y) / 2Y, or y (X - 1) / (Y - 1)."""
    emit = e.emit
    one, two = emit.ints([1]), emit.ints([2])
    x, y = emit.sizes(op.src, [op.axes[index]]), _size(op, index, emit)
    first = emit(onnx.SqueezeOp(y))
    scalars = [emit.constant(np.array(number, np.int64)) for number in (0, 1)]
    outputs = emit(onnx.RangeOp(scalars[0], first, scalars[1]))
    last = emit.sub(x, one)
    if op.coordinate_transformation_mode == "half_pixel":
        odd = emit.add(emit.mul(outputs, two), one)
        numerator, denominator = emit.sub(emit.mul(odd, x), y), emit.mul(y, two)
    else:
        numerator, denominator = emit.mul(outputs, last), emit.max(emit.sub(y, one), 1)
    if op.mode == "nearest":
        rounded = emit.div(emit.add(emit.mul(numerator, two), denominator), emit.mul(denominator, two))
        return Taps(e(emit(onnx.MinOp([rounded, last]))))
    low = emit(onnx.MaxOp([numerator, emit.ints([0])]))
    clipped = emit(onnx.MinOp([low, emit.mul(last, denominator)]))
    lower = emit.div(clipped, denominator)
    upper = emit(onnx.MinOp([emit.add(lower, one), last]))
    rest = e(emit.sub(clipped, emit.mul(lower, denominator)))
    return Taps(e(lower), e(upper), rest.cast(f32) / e(denominator).cast(f32))


def _along(value: Value, axis: int, taps: Taps, e: Builder) -> Value:
    first = value.apply(onnx.GatherOp, taps.lower, axis=axis)
    if taps.upper is None or taps.fraction is None:
        return first
    second = value.apply(onnx.GatherOp, taps.upper, axis=axis)
    behind = range(1, len(shape_of(value.value)) - axis)
    part = taps.fraction.unsqueeze(behind) if behind else taps.fraction
    part = part.cast(value.dtype)
    return part.equals(0).where(first, first * (1 - part) + second * part)


CONVERSIONS: Mapping[str, Callable[..., Sequence[Value]]] = MappingProxyType({"Interpolate": interpolate})
