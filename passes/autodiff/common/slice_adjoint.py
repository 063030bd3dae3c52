"""Adjoint of Slice: zeros around a part of a tensor and between its elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dialects.onnx import ops as onnx
from dialects.onnx.dims import TO_THE_END, slice_bounds, subtract
from dialects.support.shapes import Dim
from passes.builder.values import Builder, Value


def pad_zeros(value: Value, begin: Sequence[int | Value], end: Sequence[int | Value]) -> Value:
    """Pad each axis with zeros; a negative number crops. A dynamic entry is a vector of one element."""
    entries = [*begin, *end]
    if all(entry == 0 for entry in entries if not isinstance(entry, Value)) and not any(
        isinstance(entry, Value) for entry in entries
    ):
        return value
    return value.apply(onnx.PadOp, vector(value, entries))


def vector(like: Value, entries: Sequence[int | Value]) -> Value:
    """Concatenate numbers and vectors of one element."""
    e = like.e
    known = [entry for entry in entries if not isinstance(entry, Value)]
    if len(known) == len(entries):
        return e.ints(known)
    parts = [entry if isinstance(entry, Value) else e.ints([entry]) for entry in entries]
    return e.concat(parts, 0)


def size_of(value: Value, axis: int) -> int | Value:
    """Return the size of an axis: static, or a vector of one element."""
    dim = value.shape[axis]
    if isinstance(dim, int):
        return dim
    return value.apply(onnx.ShapeOp).apply(onnx.GatherOp, value.e.ints([axis]), axis=0)


def size_vector(size: int | Value, e: Builder) -> Value:
    """Return a size as a vector of one element."""
    return size if isinstance(size, Value) else e.ints([size])


@dataclass(frozen=True)
class SliceAxis:
    """Parameters of a Slice on one axis: `start` is static, or a vector of one element."""

    axis: int
    start: int | Value
    end: int | None
    step: int
    alone: bool = False
    """At most one element is taken, for any step."""

    @property
    def apart(self) -> int:
        """Distance in the whole tensor between consecutive elements."""
        return 1 if self.alone else abs(self.step)


NO_AXIS_AS_LONG = 10**9
"""Steps from here on take one element, as TensorFlow's exporter writes it."""


def takes_one(part: Dim, step: int) -> bool:
    """Return whether a Slice takes at most one element of an axis."""
    return (isinstance(part, int) and part <= 1) or abs(step) >= NO_AXIS_AS_LONG


def slice_adjoint(g: Value, whole: Value, taken: Sequence[SliceAxis]) -> Value:
    """Scatter a slice into zeros of the shape of `whole`."""
    begin: list[int | Value] = [0] * g.rank
    end: list[int | Value] = [0] * g.rank
    for one in taken:
        g = _spread(g, one)
    for one in taken:
        begin[one.axis], end[one.axis] = _padding(g, whole, one)
    return pad_zeros(g, begin, end).assume_shape(whole.shape)


def _spread(g: Value, one: SliceAxis) -> Value:
    """Undo a negative step, and put step - 1 zeros after each element of the axis."""
    e, axis = g.e, one.axis
    if one.step < 0 and not one.alone:
        first, last, back = e.ints([-1]), e.ints([-TO_THE_END]), e.ints([-1])
        g = g.apply(onnx.SliceOp, first, last, e.ints([axis]), back).assume_shape(g.shape)
    step = one.apart
    if step == 1:
        return g
    shape = [size_of(g, i) for i in range(g.rank)]
    apart = g.unsqueeze([axis + 1])
    if axis == g.rank - 1:
        wide = _append_zeros(apart, vector(g, [*shape, step - 1]))
    else:
        zeros = [step - 1 if i == axis + 1 else 0 for i in range(apart.rank)]
        wide = pad_zeros(apart, [0] * apart.rank, zeros)
    count = shape[axis]
    shape[axis] = count * step
    target = vector(g, shape)
    return wide.apply(onnx.ReshapeOp, target, allowzero=None if is_known(shape) else 1)


def _append_zeros(apart: Value, sizes: Value) -> Value:
    """Append zeros on a last axis of size 1. A Pad of single elements takes up to ten times as long."""
    zeros = apart.e.scalar(0, apart).apply(onnx.ExpandOp, sizes)
    return apart.e.concat([apart, zeros], apart.rank - 1)


def is_known(sizes: Sequence[int | Value]) -> bool:
    return all(isinstance(size, int) and size > 0 for size in sizes)


def _padding(spread: Value, whole: Value, one: SliceAxis) -> tuple[int | Value, int | Value]:
    """Return the numbers of zeros before and after the spread elements."""
    dim = whole.shape[one.axis]
    if isinstance(dim, int) and isinstance(one.start, int) and one.end is not None:
        return _static_padding(dim, one)
    found = _symbolic_padding(spread.shape[one.axis], dim, one)
    return _dynamic_padding(spread, whole, one) if found is None else found


def _static_padding(dim: int, one: SliceAxis) -> tuple[int, int]:
    assert isinstance(one.start, int)
    assert one.end is not None
    places = range(*slice_bounds(dim, one.start, one.end, one.step))
    first = min(places, default=0)
    return first, dim - first - len(places) * one.apart


def _symbolic_padding(part: Dim, dim: Dim, one: SliceAxis) -> tuple[int, int] | None:
    """Return the padding for symbolic sizes if it does not depend on them."""
    rest = subtract(dim, part)
    if one.step < 0 or one.apart != 1 or not isinstance(rest, int) or not isinstance(one.start, int):
        return None
    if 0 <= one.start <= rest:
        return one.start, rest - one.start
    return None


def _dynamic_padding(spread: Value, whole: Value, one: SliceAxis) -> tuple[Value, Value]:
    """Compute the padding with ONNX's clamping of the start. An empty slice gives all zeros."""
    e = spread.e
    size, taken = (_as_vector(size_of(x, one.axis), spread) for x in (whole, spread))
    start = _as_vector(one.start, spread)
    counted = (start < e.ints([0])).where(start + size, start)
    if one.step > 0:
        first = _clamp(counted, size)
    else:
        last = _clamp(counted, size - 1)
        first = _clamp(last - taken + one.apart, size)
    return first, size - first - taken


def _clamp(x: Value, most: Value) -> Value:
    return x.at_least(0).at_most(most)


def _as_vector(size: int | Value, like: Value) -> Value:
    return size if isinstance(size, Value) else like.e.ints([size])
