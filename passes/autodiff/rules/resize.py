"""VJP of Resize, by the canonical resize gradient or by a matrix per axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import f64

from dialects.grad.sampling import AxisSampling, ResizeRule, scale_step
from dialects.onnx import ops as onnx
from dialects.onnx.call import axes_of
from dialects.onnx.infer.spatial import MAX_DENOMINATOR
from dialects.onnx.numpy.resizes import AxisResize, resize_matrix
from dialects.onnx.values import constant_of
from dialects.shapes import bounds
from dialects.support import limits
from dialects.support.dtypes import known_dtype
from dialects.support.shapes import Dim, static
from passes.autodiff.common.primal import ZERO, Gradient, Primal, Rule, refusal
from passes.autodiff.common.resize_matrix import RunTimeAxis, as_number, run_time_matrix
from passes.autodiff.common.slice_adjoint import size_of, vector
from passes.builder.tensors import contract
from passes.builder.values import Builder, Value
from passes.resize.backward import ResizeAxis, emit_resize_backward
from passes.resize.sampling_matrix import RuntimeSampling, emit_matrix

_NEAREST = {
    "floor": "nearest_floor",
    "round_prefer_ceil": "nearest_half_up",
    "round_prefer_floor": "nearest_half_down",
}


Scale: TypeAlias = float | Value | None
"""A factor, in f64 if dynamic; None if the sizes determine it."""


def resize(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of Resize, axis by axis: the canonical op if it supports the sampling, else a matrix product."""
    _check(f)
    if 0 in (*f.x.shape, *g[0].shape):
        return (e.fill_like(0, f.x), ZERO, ZERO, ZERO)
    axes = axes_of(f.value("axes", range(f.x.rank)), f.x.rank)
    scales, regions = _scales(f, g[0], axes), _regions(f, len(axes))
    canonical: list[ResizeAxis] = []
    value = g[0]
    for axis, scale, region in zip(axes, scales, regions, strict=True):
        x, y = f.x.shape[axis], g[0].shape[axis]
        if region is None and (scale == 1 or (scale is None and x is not None and x == y)):
            continue
        rule = None if isinstance(scale, Value) else _rule(f, y, scale)
        if rule is None or isinstance(scale, Value):
            value = _by_matrix(f, value, g[0], axis, scale, region)
            continue
        given = scale is not None and rule.coordinate_mode != "align_corners"
        canonical.append(ResizeAxis(axis, x, scale_step(scale) if given and scale is not None else None))
    if canonical:
        first = scales[axes.index(canonical[0].axis)]
        assert not isinstance(first, Value)
        rule = _rule(f, g[0].shape[canonical[0].axis], first)
        assert rule is not None
        value = e(emit_resize_backward(e.emit, value.value, canonical, rule, f.x.value))
    return (value, ZERO, ZERO, ZERO)


def _check(f: Primal) -> None:
    smooth = f.value("mode", "nearest") != "nearest"
    if smooth and f.wants(2) and f.operand(2) is not None:
        raise refusal("wrt", given="the scales", expected="the data")
    if smooth and f.wants(1) and _crops(f):
        raise refusal("wrt", given="the region", expected="the data")


def _crops(f: Primal) -> bool:
    return f.value("coordinate_transformation_mode") == "tf_crop_and_resize"


def _scales(f: Primal, g: Value, axes: Sequence[int]) -> Sequence[Scale]:
    given = f.operand(2)
    if given is not None and _has_scales(f):
        return [_entry(given, i) for i in range(len(axes))]
    policy = f.value("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return [None] * len(axes)
    sizes, wanted = static([f.x.shape[axis] for axis in axes]), f.operand(3)
    assert wanted is not None
    numbers = constant_of(wanted.value)
    smaller = policy == "not_larger"
    if sizes is not None and numbers is not None:
        ratios = [int(number) / size for number, size in zip(numbers, sizes, strict=True)]
        return [min(ratios) if smaller else max(ratios)] * len(axes)
    given = vector(wanted, [size_of(f.x, axis) for axis in axes]).cast(f64)
    quotients = wanted.cast(f64) / given
    reduced = quotients.apply(onnx.ReduceMinOp if smaller else onnx.ReduceMaxOp, keepdims=0)
    return [reduced] * len(axes)


def _has_scales(f: Primal) -> bool:
    """Return whether the model gives scales rather than sizes."""
    given = f.operand(2)
    return given is not None and given.shape != (0,)


def _entry(vector: Value, index: int) -> float | Value:
    """Return an element of a float vector: constant, also in a constant part of a Concat, or in f64."""
    while (inner := _part_with(vector, index)) is not None:
        vector, index = inner
    known = constant_of(vector.value)
    if known is not None:
        return float(known[index])
    e = vector.e
    place = e(e.emit.constant(np.array(index, np.int64)))
    return vector.apply(onnx.GatherOp, place, axis=0).cast(f64)


def _part_with(vector: Value, index: int) -> tuple[Value, int] | None:
    """Return the part of a Concat with an element, and its index there."""
    made = vector.value.owner
    if not isinstance(made, onnx.ConcatOp):
        return None
    for part in map(vector.e, made.operands):
        (count,) = part.shape
        if not isinstance(count, int):
            return None
        if index < count:
            return part, index
        index -= count
    return None


def _regions(f: Primal, count: int) -> Sequence[tuple[float | Value, float | Value] | None]:
    """Return the ends of the crop region on each axis."""
    roi = f.operand(1)
    if not _crops(f):
        return [None] * count
    assert roi is not None
    return [(_entry(roi, i), _entry(roi, count + i)) for i in range(count)]


def _rule(f: Primal, y: Dim, scale: float | None) -> ResizeRule | None:
    """Return the sampling of an axis if the canonical op supports it."""
    mode, coordinates = f.value("mode", "nearest"), f.value("coordinate_transformation_mode", "half_pixel")
    nearest = _NEAREST.get(f.value("nearest_mode", "round_prefer_floor"))
    interpolation = nearest if mode == "nearest" else mode if mode == "linear" else None
    if coordinates == "pytorch_half_pixel" and _is_more_than_one(y, scale):
        coordinates = "half_pixel"
    if (
        f.value("antialias", 0)
        or interpolation is None
        or coordinates not in ("align_corners", "asymmetric", "half_pixel")
        or (mode == "nearest" and coordinates != "align_corners" and not _is_exact_in_f32(scale))
    ):
        return None
    return ResizeRule(interpolation, coordinates)


def _is_exact_in_f32(scale: float | None) -> bool:
    """Return whether ties of quotients by a given scale are exact in f32: they are representable, and other
    quotients are far from ties."""
    ratio = Fraction(1 if scale is None else scale)
    return max(ratio.numerator, ratio.denominator) <= MAX_DENOMINATOR


def _is_more_than_one(y: Dim, scale: float | None) -> bool:
    """Return whether the result size is not 1, for which pytorch_half_pixel differs from half_pixel."""
    by_scale = scale is not None and scale >= 2
    return by_scale or (y is not None and bounds.is_at_least(y, 2))


def _by_matrix(
    f: Primal,
    value: Value,
    g: Value,
    axis: int,
    scale: Scale,
    region: tuple[float | Value, float | Value] | None,
) -> Value:
    """Multiply by the interpolation matrix, a constant if all is static."""
    e = g.e
    known = _constant_matrix(f, f.x.shape[axis], g.shape[axis], scale, region or (0.0, 1.0))
    if known is not None:
        return _multiply_axis(value, axis, known)
    sizes = size_of(f.x, axis), size_of(g, axis)
    if scale is None:
        scale = _quotient(sizes[1], sizes[0], e)
    sampled = RunTimeAxis(*sizes, scale, region, _has_scales(f))
    matrix = run_time_matrix(f.attributes, sampled, e).cast(g.dtype)
    return e(contract(e.emit, value.value, axis, matrix.value, literal_zeros=True))


def _constant_matrix(
    f: Primal, x: Dim, y: Dim, scale: Scale, ends: Sequence[float | Value]
) -> np.ndarray | None:
    start, end = ends
    if not isinstance(x, int) or not isinstance(y, int) or isinstance(scale, Value):
        return None
    if isinstance(start, Value) or isinstance(end, Value):
        return None
    ratio = Fraction(y, max(x, 1)) if scale is None else Fraction(scale)
    return resize_matrix(AxisResize(f.attributes, x, y, ratio, (start, end), _has_scales(f)))


def _quotient(y: int | Value, x: int | Value, e: Builder) -> Value:
    above, below = (as_number(size) for size in (y, x))
    above = above if isinstance(above, Value) else e(e.emit.constant(np.array(above)))
    return above / (below.at_least(1) if isinstance(below, Value) else below)


def _multiply_axis(g: Value, axis: int, matrix: np.ndarray) -> Value:
    """Multiply an axis by a matrix (from, to)."""
    dtype = known_dtype(g.dtype)
    constant = g.e.emit.constant(matrix.astype(dtype.numpy))
    return g.e(contract(g.e.emit, g.value, axis, constant, literal_zeros=True))


def resize_backward(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """The op's adjoint: the resize, as a matrix product per axis."""
    value, lists = g[0], ("axes", "input_sizes", "step_numerators", "step_denominators")
    for axis, x, numerator, denominator in zip(*(f.value(name) for name in lists), strict=True):
        y = f.x.shape[int(axis)]
        assert isinstance(y, int)
        step = Fraction(numerator, denominator)
        sampling = AxisSampling(x, y, step, f.value("interpolation"), f.value("coordinates"))
        limits.check("constant-elements", x * y, "elements of the matrix of a resized axis")
        value = _multiply_axis(value, axis, sampling.matrix().T)
    return (value,)


def resize_backward_dynamic(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """The same with matrices computed at run time."""
    emit, value = e.emit, g[0]
    sizes, numerators, denominators = (operand.value for operand in f.operands[1:] if operand is not None)
    for i, axis in enumerate(f.value("axes")):
        sampling = RuntimeSampling(
            emit.take(sizes, [i]),
            emit.sizes(f.x.value, [axis]),
            (emit.take(numerators, [i]), emit.take(denominators, [i])),
            f.value("interpolation"),
            f.value("coordinates"),
        )
        matrix = e(emit_matrix(emit, sampling, value.dtype)).transpose([1, 0])
        value = e(contract(e.emit, value.value, axis, matrix.value, literal_zeros=True))
    return (value, ZERO, ZERO, ZERO)


RULES: Mapping[str, Rule] = MappingProxyType({"Resize": resize})
"""ONNX op -> its rule."""

GRADIENT_RULES: Mapping[str, Rule] = MappingProxyType(
    {"grad.resize_backward": resize_backward, "grad.resize_backward_dynamic": resize_backward_dynamic}
)
"""Canonical gradient -> its rule."""
