"""Interpolation between elements as sums of weighted taps, and the decomposition of GridSample.

A tap is an element near a point. Its index is piecewise constant, like Floor; its weight depends on the point
and carries the derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import f32

from dialects.onnx import ops as onnx
from dialects.support.dtypes import of_mlir
from passes.autodiff.common.gather_adjoint import iota
from passes.autodiff.common.primal import Primal
from passes.autodiff.common.resize_matrix import at_least_one
from passes.autodiff.common.slice_adjoint import size_of
from passes.builder.values import Builder, Value

Number: TypeAlias = Value | float


@dataclass(frozen=True)
class Taps:
    """Taps along one data axis for points of shape P: K valid indices and their weights, both float tensors
    (*P, K)."""

    places: Value
    weights: Value


def sample(x: Value, taps: Sequence[Taps], batch: Value | None = None) -> Value:
    """Return the weighted sum of the taps in x (N, C, ...) for each point (N, *P): (N, C, *P).

    The points of the axes broadcast; `batch` selects the batch element of x.
    """
    parts, rank = weigh_taps(x, taps, batch), taps[0].places.rank - 1
    total = parts.apply(onnx.ReduceSumOp, x.e.ints(range(rank, parts.rank - 1)), keepdims=0)
    return total.transpose([0, rank, *range(1, rank)])


def weigh_taps(x: Value, taps: Sequence[Taps], batch: Value | None = None) -> Value:
    """Return the weighted elements of x at each tap: (N, *P, taps of each axis..., C)."""
    e, count = x.e, len(taps)
    rank = taps[0].places.rank - 1
    own = [[rank + i for i in range(count) if i != axis] for axis in range(count)]
    flat = iota(size_of(x, 0), x) if batch is None else batch
    flat = flat.unsqueeze(range(1, rank + count))
    weights: Value | None = None
    for axis, tap in enumerate(taps):
        size = size_of(x, 2 + axis)
        flat = flat * (size if isinstance(size, Value) else e.ints([size]))
        flat = flat + unsqueeze(tap.places.as_int64(), own[axis])
        share = unsqueeze(tap.weights, own[axis])
        weights = share if weights is None else weights * share
    assert weights is not None
    table = x.transpose([0, *range(2, x.rank), 1]).apply(onnx.FlattenOp, axis=1 + count)
    taken = table.apply(onnx.GatherOp, flat, axis=0)
    return taken * unsqueeze(weights.cast(x.dtype), [rank + count])


def unsqueeze(x: Value, axes: Sequence[int]) -> Value:
    return x.unsqueeze(axes) if axes else x


def size_as(x: Value, axis: int, like: Value) -> Number:
    """Return a size as a number that multiplies floats."""
    size = size_of(x, axis)
    return size.cast(like.dtype) if isinstance(size, Value) else float(size)


def linear_taps(place: Value) -> tuple[list[float], Sequence[Value], Value]:
    """Return the offsets from the floor of the two neighbors, their weights, and the floor."""
    floor = place.apply(onnx.FloorOp)
    part = place - floor
    return [0, 1], [1 - part, part], floor


def _cubic_taps(place: Value) -> tuple[list[float], Sequence[Value], Value]:
    """Taps of Keys' kernel with a = -0.75."""
    floor, a = place.apply(onnx.FloorOp), -0.75
    part = place - floor

    def near(t: Value) -> Value:
        return t.square() * (t * (a + 2) - (a + 3)) + 1

    def far(t: Value) -> Value:
        return ((t * a - 5 * a) * t + 8 * a) * t - 4 * a

    return [-1, 0, 1, 2], [far(part + 1), near(part), near(1 - part), far(2 - part)], floor


# GridSample


@dataclass(frozen=True)
class _Border:
    """Padding beyond the data along an axis of `size` elements."""

    how: str
    size: Number
    corners: bool

    @property
    def last(self) -> Number:
        return self.size - 1

    @property
    def mirrors(self) -> tuple[float, Number]:
        return (0, self.last) if self.corners else (-0.5, self.size - 0.5)

    def of_place(self, place: Value, mode: str) -> Value:
        """Move a coordinate inside; one at or beyond the limits has no gradient.

        From the center of the end element to the mirror half a step out, only `cubic` depends on the
        coordinate; with `border` it does beyond, too, and only its taps are moved inside.
        """
        if self.how == "zeros" or (self.how == "border" and mode == "cubic"):
            return place
        low, high = self.mirrors if mode == "cubic" else (0, self.last)
        if self.how == "reflection":
            place = self._reflect(place)
        edges = (place <= low).where(place.e.scalar(low, place), high)
        return ((place > low) & (place < high)).where(place, edges)

    def of_tap(self, tap: Value) -> Value:
        """Move the index of a tap inside. It is piecewise constant."""
        inner = self._reflect(tap).apply(onnx.RoundOp) if self.how == "reflection" else tap
        return inner.at_least(0).at_most(self.last)

    def _reflect(self, x: Value) -> Value:
        """Reflect repeatedly between the mirrors."""
        low, high = self.mirrors
        length = at_least_one(high - low)
        way = x - low
        turn = way - (way / (length * 2)).apply(onnx.FloorOp) * (length * 2)
        return low + length - (turn - length).abs()


def grid_sample(f: Primal, e: Builder) -> Sequence[Value]:
    grid, x = f.required(1), f.x
    count, corners = x.rank - 2, bool(f.value("align_corners", 0))
    dtype = of_mlir(grid.dtype)
    grid = grid.cast(f32) if dtype is not None and dtype.name in ("f16", "bf16") else grid
    columns = [grid] if count == 1 else _split(grid, count)
    borders = [
        _Border(f.value("padding_mode", "zeros"), size_as(x, 2 + axis, grid), corners)
        for axis in range(count)
    ]
    rows = zip(reversed(columns), borders, strict=True)
    return [sample(x, [_taps(f.value("mode", "linear"), *row) for row in rows])]


def _split(x: Value, count: int) -> list[Value]:
    """Split the last axis."""
    made = onnx.SplitOp(x.value, x.e.ints([1] * count).value, axis=x.rank - 1, results=count)
    return [x.e(part) for part in x.e.emit.all(made)]


_NEAR: Mapping[str, Callable[[Value], tuple[list[float], Sequence[Value], Value]]] = {
    "cubic": _cubic_taps,
    "linear": linear_taps,
}


def _taps(mode: str, t: Value, border: _Border) -> Taps:
    """Return the taps for coordinates from -1 to 1, in a column."""
    e, size = t.e, border.size
    place = (t + 1) * (border.last * 0.5) if border.corners else ((t + 1) * size - 1) * 0.5
    if mode == "nearest":
        place = border.of_place(place.apply(onnx.RoundOp), mode)
        offsets, weights, floor = [0.0], [e.fill_like(1, place)], place
    else:
        offsets, weights, floor = _NEAR[mode](border.of_place(place, mode))
    taps = floor if len(offsets) == 1 else floor + row_of(offsets, floor)
    joined = e.concat(weights, t.rank - 1)
    if border.how == "zeros":
        joined = e.keep(joined, (taps >= 0) & (taps <= border.last))
    return Taps(border.of_tap(taps), joined)


def row_of(values: Sequence[float], like: Value) -> Value:
    """Return numbers along the last axis."""
    return like.e.ints([int(value) for value in values]).cast(like.dtype)
