"""Interpolation matrix of one Resize axis, for any mode, computed at run time from sizes and scales.

Coordinates are computed in f64; quotients by a scale given in the model are rounded to f32 for `nearest`, as
runtimes do. Weights are a kernel of the distance between a coordinate and each index; weights beyond the ends
are added to the end elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import f32, f64, i64

from dialects.onnx import ops as onnx
from dialects.onnx.numpy.resizes import TIE
from passes.autodiff.common.gather_adjoint import iota
from passes.autodiff.common.primal import refusal
from passes.builder.values import Builder, Value

Number: TypeAlias = Value | float
Size: TypeAlias = int | Value
"""A static size, or a vector of one element."""


@dataclass(frozen=True)
class RunTimeAxis:
    """An axis resized from X to Y elements. `scale` and the ends of the crop region are numbers in f64.

    `given`: the model has the scale, as an f32 number; otherwise it follows from the sizes.
    """

    x: Size
    y: Size
    scale: Number
    region: tuple[Number, Number] | None
    given: bool = False

    def is_in_f32(self, attributes: Mapping[str, Any]) -> bool:
        """Return whether quotients by the scale are rounded to f32."""
        return self.given and attributes.get("mode", "nearest") == "nearest"


def as_number(size: Size) -> Number:
    return size.cast(f64) if isinstance(size, Value) else float(size)


def run_time_matrix(attributes: Mapping[str, Any], axis: RunTimeAxis, e: Builder) -> Value:
    """Return the (Y, X) matrix in f64 of interpolation weights."""
    like = e.ints([0])
    x, rows = as_number(axis.x), iota(axis.y, like).cast(f64)
    place = _coordinate(attributes, axis, rows, e)
    inside = ((place >= 0) & (place <= x - 1)) if axis.region is not None else None
    column = place.unsqueeze([1])
    columns = iota(axis.x, like).cast(f64).unsqueeze([0])
    if attributes.get("mode", "nearest") == "nearest":
        half = 0.5 + (TIE if axis.given else 0)
        index = _nearest_index(column, attributes.get("nearest_mode", "round_prefer_floor"), half)
        matrix = index.at_least(0).at_most(x - 1).equals(columns).cast(f64)
    else:
        matrix = _weights(attributes, axis, column, columns, e)
    return matrix if inside is None else matrix * inside.unsqueeze([1]).cast(f64)


def _coordinate(attributes: Mapping[str, Any], axis: RunTimeAxis, y: Value, e: Builder) -> Value:
    x_size, y_size, scale = as_number(axis.x), as_number(axis.y), axis.scale
    in_f32 = axis.is_in_f32(attributes)

    def rounded(x: Value) -> Value:
        return x.cast(f32).cast(f64) if in_f32 else x

    match attributes.get("coordinate_transformation_mode", "half_pixel"):
        case "half_pixel":
            return rounded((y + 0.5) / scale) - 0.5
        case "half_pixel_symmetric":
            start = (1 - _adjustment(axis, in_f32)) * (x_size * 0.5)
            return rounded((y + 0.5) / scale - 0.5 + start)
        case "pytorch_half_pixel":
            return (rounded((y + 0.5) / scale) - 0.5) * _is_several(y_size)
        case "align_corners":
            return y * (x_size - 1) / at_least_one(y_size - 1)
        case "asymmetric":
            return rounded(y / scale)
        case "tf_crop_and_resize":
            assert axis.region is not None
            start, end = axis.region
            several = _is_several(y_size)
            part = y / at_least_one(y_size - 1) + (1 - several) * 0.5
            return (part * (end - start) + start) * (x_size - 1)
        case other:
            raise refusal("coordinate_transformation_mode", given=other)


def _adjustment(axis: RunTimeAxis, in_f32: bool) -> Number:
    """Return the output size divided by the output size before rounding down."""

    def rounded(x: Number) -> Number:
        if not in_f32:
            return x
        return x.cast(f32).cast(f64) if isinstance(x, Value) else float(np.float32(x))

    return rounded(as_number(axis.y) / rounded(axis.scale * as_number(axis.x)))


def _is_several(size: Number) -> Number:
    """Return 1 for a size above 1, else 0."""
    return (size > 1).cast(f64) if isinstance(size, Value) else float(size > 1)


def at_least_one(size: Number) -> Number:
    return size.at_least(1) if isinstance(size, Value) else max(size, 1)


def _nearest_index(place: Value, mode: str, half: float) -> Value:
    match mode:
        case "round_prefer_floor":
            return (place - half).apply(onnx.CeilOp)
        case "round_prefer_ceil":
            return (place + half).apply(onnx.FloorOp)
        case "floor":
            return place.apply(onnx.FloorOp)
        case "ceil":
            return place.apply(onnx.CeilOp)
        case other:
            raise refusal("nearest_mode", given=other)


# Weights of a kernel


def _weights(
    attributes: Mapping[str, Any], axis: RunTimeAxis, place: Value, columns: Value, e: Builder
) -> Value:
    """Return the kernel's weights; coordinates beyond its reach take the end element whole."""
    kernel, reach = _kernel(attributes)
    antialias = bool(attributes.get("antialias", 0))
    if attributes.get("exclude_outside", 0):
        inner, _ = _spread(kernel, reach, axis, place, columns, antialias)
        return inner / _sum(inner)
    near = _radius(axis, antialias, reach)
    last = as_number(axis.x) - 1
    place = place.at_least(0 - near).at_most(last + near)
    inner, beyond = _spread(kernel, reach, axis, place, columns, antialias)
    if antialias:
        total = _sum(inner) + beyond[0] + beyond[1]
        inner, beyond = inner / total, (beyond[0] / total, beyond[1] / total)
    return inner + columns.equals(0).cast(f64) * beyond[0] + columns.equals(last).cast(f64) * beyond[1]


def _sum(matrix: Value) -> Value:
    return matrix.apply(onnx.ReduceSumOp, matrix.e.ints([1]), keepdims=1)


def _radius(axis: RunTimeAxis, antialias: bool, reach: int) -> Number:
    """Return the kernel radius, in whole elements."""
    if not antialias:
        return float(reach)
    if isinstance(axis.scale, Value):
        return (reach / axis.scale.at_most(1)).apply(onnx.CeilOp)
    return float(math.ceil(reach / min(axis.scale, 1)))


def _spread(
    kernel: Callable[[Value], Value],
    reach: int,
    axis: RunTimeAxis,
    place: Value,
    columns: Value,
    antialias: bool,
) -> tuple[Value, tuple[Value, Value]]:
    """Return the weights within the axis, and their sums before and after it."""
    narrower: Number = 1.0
    if antialias:
        narrower = axis.scale.at_most(1) if isinstance(axis.scale, Value) else min(axis.scale, 1.0)

    def given(positions: Value) -> Value:
        distance = (positions - place).abs()
        return kernel(distance if narrower == 1.0 else distance * narrower)

    count = _radius(axis, antialias, reach) * 2
    beside = _numbers_up_to(count, columns) + 1
    behind = beside + (as_number(axis.x) - 1)
    return given(columns), (_sum(given(-beside)), _sum(given(behind)))


def _numbers_up_to(count: Number, like: Value) -> Value:
    """Return 0, 1, ..., count - 1 as a row."""
    e = like.e
    if not isinstance(count, Value):
        return e(e.emit.constant(np.arange(count)[None]))
    whole = count.cast(i64)
    line = whole if whole.rank else whole.unsqueeze([0])
    return iota(line, e.ints([0])).cast(f64).unsqueeze([0])


def _kernel(attributes: Mapping[str, Any]) -> tuple[Callable[[Value], Value], int]:
    """Return the kernel as a function of the distance, and its radius."""
    if attributes.get("mode") == "linear":
        return (lambda t: (1 - t).at_least(0)), 1
    if attributes.get("mode") != "cubic":
        raise refusal("mode", given=attributes.get("mode"))
    a = attributes.get("cubic_coeff_a", -0.75)

    def keys(t: Value) -> Value:
        near = (t * (a + 2) - (a + 3)) * t.square() + 1
        far = ((t * a - 5 * a) * t + 8 * a) * t - 4 * a
        return (t <= 1).where(near, (t < 2).where(far, 0))

    return keys, 2
