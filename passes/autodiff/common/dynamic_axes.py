"""Operations along axes that are known at run time only, by element indices and reshapes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.shapes import bounds
from dialects.shapes.forms import Size
from passes.autodiff.common.gather_adjoint import iota, scatter_back
from passes.builder.values import Value


def reshape_as(value: Value, like: Value) -> Value:
    """Reshape `value` to the shape of `like`, which may be empty."""
    e, positive = value.e, [bounds.is_at_least(dim, 1) for dim in like.shape if isinstance(dim, int | Size)]
    allowzero = None if len(positive) == like.rank and all(positive) else 1
    return value.apply(onnx.ReshapeOp, e.shape(like), allowzero=allowzero).assume_shape(like.shape)


def flat(x: Value) -> Value:
    """Flatten to a vector."""
    return x.apply(onnx.ReshapeOp, x.e.ints([-1]))


def count_of(x: Value) -> int | Value:
    """Return the number of elements: static, or a vector of one element."""
    sizes = [size for size in x.shape if isinstance(size, int)]
    if len(sizes) == x.rank:
        return math.prod(sizes)
    return x.apply(onnx.SizeOp).apply(onnx.ReshapeOp, x.e.ints([1]))


def flat_indices(x: Value) -> Value:
    """Return the flat index of each element, in the shape of `x`."""
    return reshape_as(iota(count_of(x), x), x)


def scatter_flat(g: Value, places: Value, whole: Value) -> Value:
    """Scatter elements to distinct flat indices of zeros with the shape of `whole`."""
    count = count_of(whole)
    size = count if isinstance(count, Value) else whole.e.ints([count])
    zeros = whole.e.scalar(0, g).apply(onnx.ExpandOp, size)
    return reshape_as(zeros.apply(onnx.ScatterElementsOp, flat(places), flat(g)), whole)


def scatter_add_flat(g: Value, places: Value, whole: Value) -> Value:
    """Scatter-add elements to flat indices of zeros with the shape of `whole`."""
    return reshape_as(scatter_back(flat(g), flat(places), 0, count_of(whole)), whole)


@dataclass(frozen=True)
class AxisView:
    """Tensors viewed as (before, axis, after), for a run-time axis; the last `kept` axes stay separate.

    `axis` is an integer of one element; negative values count from the end.
    """

    axis: Value
    rank: int
    kept: int = 0

    def of(self, x: Value) -> Value:
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
        shape = e.concat(parts, 0)
        sizes_kept = x.shape[self.rank - self.kept :]
        return x.apply(onnx.ReshapeOp, shape, allowzero=1).assume_shape((None, None, None, *sizes_kept))


@dataclass(frozen=True)
class ReducedAxes:
    """The axes of a reduction of x, as a run-time vector."""

    x: Value
    axes: Value
    none_is_all: bool

    @property
    def _sizes(self) -> Value:
        return self.x.apply(onnx.ShapeOp)

    def mask(self) -> Value:
        """Return a mask of the reduced axes."""
        e = self.x.e
        ones = e.ints([1]).apply(onnx.ExpandOp, self.axes.apply(onnx.ShapeOp))
        mask = e.ints([0] * self.x.rank).apply(onnx.ScatterElementsOp, self.axes, ones).equals(e.ints([1]))
        length = self.axes.shape[0]
        if not self.none_is_all or (length is not None and bounds.is_at_least(length, 1)):
            return mask
        none = self.axes.apply(onnx.SizeOp).equals(e(e.emit.constant(np.array(0, np.int64))))
        return mask.apply(onnx.OrOp, none)

    def keepdims_shape(self) -> Value:
        """Return the sizes of the result with keepdims: 1 for each reduced axis."""
        return self.mask().where(self.x.e.ints([1]), self._sizes)

    def steps(self) -> ReducedSteps:
        e, mask, sizes = self.x.e, self.mask(), self._sizes
        one = e.ints([1])
        parts = (mask.where(one, sizes), sizes, mask.where(sizes, one))
        return ReducedSteps(self.x.rank, e.emit(onnx.ConcatOp([part.value for part in parts], axis=0)))


@dataclass(frozen=True)
class ReducedSteps:
    """A reduction one axis at a time: each is moved last and split in two, one part of size 1; the second
    part is reduced.

    `pool` has, for each axis, the size after and before the reduction, and the number of reduced elements.
    """

    rank: int
    pool: SSAValue

    def split(self, x: Value, axis: int) -> Value:
        """Return x, reduced along the axes before `axis`, with `axis` split into the last two."""
        others = [i if i < axis else self.rank + i for i in range(self.rank) if i != axis]
        moved = x.transpose(self._perm(axis))
        return self._reshape_to(moved, [*others, axis, 2 * self.rank + axis])

    def merge_axis(self, x: Value, axis: int) -> Value:
        """Undo `split`."""
        others = [i if i < axis else self.rank + i for i in range(self.rank) if i != axis]
        return self.back(self._reshape_to(x, [*others, self.rank + axis]), axis)

    def back(self, x: Value, axis: int) -> Value:
        """Move the last axis back to `axis`."""
        perm = self._perm(axis)
        return x.transpose([perm.index(i) for i in range(self.rank)])

    def _perm(self, axis: int) -> list[int]:
        return [*(i for i in range(self.rank) if i != axis), axis]

    def _reshape_to(self, x: Value, entries: list[int]) -> Value:
        e = x.e
        return x.apply(
            onnx.ReshapeOp, e(self.pool).apply(onnx.GatherOp, e.ints(entries), axis=0), allowzero=1
        )
