"""Axes, and what is taken along them, that only run time knows: by the places of elements, and by views."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from dialects.geometry import bounds
from dialects.geometry.forms import Size
from dialects.onnx import ops as onnx
from passes.emit.expressions import Expr
from passes.vjp.common.places import counted, put_together


def reshaped(value: Expr, like: Expr) -> Expr:
    """The elements of a value in the shape of another one, which may be empty."""
    e, positive = value.e, [bounds.is_at_least(dim, 1) for dim in like.shape if isinstance(dim, int | Size)]
    allowzero = None if len(positive) == like.rank and all(positive) else 1
    return value.apply(onnx.ReshapeOp, e.shape(like), allowzero=allowzero).assumed(like.shape)


def flat(x: Expr) -> Expr:
    """The elements as a vector."""
    return x.apply(onnx.ReshapeOp, x.e.ints([-1]))


def count_of(x: Expr) -> int | Expr:
    """How many elements there are: a number, or a vector of one element."""
    sizes = [size for size in x.shape if isinstance(size, int)]
    if len(sizes) == x.rank:
        return math.prod(sizes)
    return x.apply(onnx.SizeOp).apply(onnx.ReshapeOp, x.e.ints([1]))


def numbered(x: Expr) -> Expr:
    """0, 1, ... in the shape of a tensor: the place of each element."""
    return reshaped(counted(count_of(x), x), x)


def put_at(g: Expr, places: Expr, whole: Expr) -> Expr:
    """Elements at their places, no two at one, in zeros of the shape of `whole`."""
    count = count_of(whole)
    size = count if isinstance(count, Expr) else whole.e.ints([count])
    zeros = whole.e.scalar(0, g).apply(onnx.ExpandOp, size)
    return reshaped(zeros.apply(onnx.ScatterElementsOp, flat(places), flat(g)), whole)


def added_at(g: Expr, places: Expr, whole: Expr) -> Expr:
    """For each place of `whole`, the sum of the elements that were taken from there."""
    return reshaped(put_together(flat(g), flat(places), 0, count_of(whole)), whole)


@dataclass(frozen=True)
class AxisView:
    """Tensors of one rank with an axis, of which only run time knows which, in the middle of three: what is
    before it, the axis, and what is behind it; then the last `kept` axes as they are.

    `axis` is an integer of one element, counted from either end.
    """

    axis: Expr
    rank: int
    kept: int = 0

    def of(self, x: Expr) -> Expr:
        e = x.e
        axis = self.axis.as_int64().apply(onnx.ReshapeOp, e.ints([1]))
        axis = (axis < e.ints([0])).where(axis + e.ints([self.rank]), axis)
        index, one, sizes = e.ints(range(self.rank)), e.ints([1]), x.apply(onnx.ShapeOp)
        is_behind = index > axis
        if self.kept:
            is_behind = is_behind & (index < e.ints([self.rank - self.kept]))
        before, behind = (
            side.where(sizes, one).apply(onnx.ReduceProdOp, keepdims=1) for side in (index < axis, is_behind)
        )
        middle = sizes.apply(onnx.GatherOp, axis, axis=0)
        ends = sizes.apply(onnx.GatherOp, e.ints(range(self.rank - self.kept, self.rank)), axis=0)
        parts = [before, middle, behind, *([ends] if self.kept else [])]
        shape = e(e.emit(onnx.ConcatOp([part.value for part in parts], axis=0)))
        sizes_kept = x.shape[self.rank - self.kept :]
        return x.apply(onnx.ReshapeOp, shape, allowzero=1).assumed((None, None, None, *sizes_kept))


@dataclass(frozen=True)
class ReducedAxes:
    """The axes of x that a reduction goes over, as a vector that only run time knows."""

    x: Expr
    axes: Expr
    none_is_all: bool

    @property
    def _sizes(self) -> Expr:
        return self.x.apply(onnx.ShapeOp)

    def mask(self) -> Expr:
        """For each axis whether it is reduced."""
        e = self.x.e
        ones = e.ints([1]).apply(onnx.ExpandOp, self.axes.apply(onnx.ShapeOp))
        mask = e.ints([0] * self.x.rank).apply(onnx.ScatterElementsOp, self.axes, ones).equals(e.ints([1]))
        length = self.axes.shape[0]
        if not self.none_is_all or (length is not None and bounds.is_at_least(length, 1)):
            return mask
        none = self.axes.apply(onnx.SizeOp).equals(e(e.emit.constant(np.array(0, np.int64))))
        return mask.apply(onnx.OrOp, none)

    def kept_shape(self) -> Expr:
        """The sizes of the result with keepdims: 1 for each axis that is reduced."""
        return self.mask().where(self.x.e.ints([1]), self._sizes)

    def steps(self) -> ReducedSteps:
        e, mask, sizes = self.x.e, self.mask(), self._sizes
        one = e.ints([1])
        parts = (mask.where(one, sizes), sizes, mask.where(sizes, one))
        return ReducedSteps(self.x.rank, e.emit(onnx.ConcatOp([part.value for part in parts], axis=0)))


@dataclass(frozen=True)
class ReducedSteps:
    """A reduction axis by axis: each is moved to the end and seen as two, of which one has size 1, and of
    which only the second is reduced.

    `pool` has, of each axis, the size after, the size before, and the number of elements that become one.
    """

    rank: int
    pool: SSAValue

    def split(self, x: Expr, axis: int) -> Expr:
        """x, of which the axes before `axis` are reduced, with `axis` as the last two axes."""
        others = [i if i < axis else self.rank + i for i in range(self.rank) if i != axis]
        moved = x.apply(onnx.TransposeOp, perm=self._perm(axis))
        return self._reshaped(moved, [*others, axis, 2 * self.rank + axis])

    def joined(self, x: Expr, axis: int) -> Expr:
        """Back from `split`."""
        others = [i if i < axis else self.rank + i for i in range(self.rank) if i != axis]
        return self.back(self._reshaped(x, [*others, self.rank + axis]), axis)

    def back(self, x: Expr, axis: int) -> Expr:
        """With the last axis in its place."""
        perm = self._perm(axis)
        return x.apply(onnx.TransposeOp, perm=[perm.index(i) for i in range(self.rank)])

    def _perm(self, axis: int) -> list[int]:
        return [*(i for i in range(self.rank) if i != axis), axis]

    def _reshaped(self, x: Expr, entries: list[int]) -> Expr:
        e = x.e
        return x.apply(
            onnx.ReshapeOp, e(self.pool).apply(onnx.GatherOp, e.ints(entries), axis=0), allowzero=1
        )
