"""Index tuples that cover a box: what exporters write for `x[:, 1:3]` and `x[:, 0]`.

An exporter expands the indices of every axis over the box and concatenates them to a tensor of index tuples,
which may be many times larger than the data. It is equivalent to a start and a length per axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from dialects.onnx import ops
from dialects.onnx.values import constant_of
from dialects.support import shapes
from dialects.support.shapes import Dim, Shape


@dataclass(frozen=True)
class IndexRange:
    """Indices of one axis: `size` from `start` on. `dropped`: one index, without an axis in the box."""

    start: int
    size: Dim
    dropped: bool = False

    def is_whole(self, dim: Dim) -> bool:
        return self.start == 0 and self.size is not None and self.size == dim and not self.dropped

    def is_within(self, dim: Dim) -> bool:
        return isinstance(dim, int) and isinstance(self.size, int) and self.start + self.size <= dim


@dataclass(frozen=True)
class _AxisIndices:
    """The indices of one axis as a tensor: constant, or consecutive along `axis`, counted from the end."""

    start: int
    axis: int | None = None
    size: Dim = 1


def find_box(indices: SSAValue, data: Shape, taken: Shape) -> list[IndexRange] | None:
    """Return the box of data that index tuples (..., K) enumerate in order over its first K axes, or None.
    `taken` is the shape of the gathered or scattered data."""
    sizes = taken[: len(shapes.shape_of(indices)) - 1]
    components = _components(indices)
    if components is None or len(components) > len(data):
        return None
    axes = iter(range(len(sizes), 0, -1))
    keeps_all = len(components) == len(sizes)
    found: list[IndexRange] = []
    for component, dim in zip(components, data, strict=False):
        axis = next(axes, None) if keeps_all or component.axis is not None else None
        places = _index_range(component, axis, sizes, dim)
        if places is None:
            return None
        found.append(places)
    return found if next(axes, None) is None else None


def _index_range(
    component: _AxisIndices, axis: int | None, sizes: Sequence[Dim], dim: Dim
) -> IndexRange | None:
    """Return the indices of a component that must vary along `axis` of the tuples, or be constant if None."""
    start = component.start
    if start < 0:
        start += dim if isinstance(dim, int) else 0
    size = 1 if axis is None else sizes[-axis]
    if component.size != size or component.axis not in (None, axis):
        return None
    places = IndexRange(start, size, axis is None)
    return places if start >= 0 and (places.is_whole(dim) or places.is_within(dim)) else None


def _components(indices: SSAValue) -> list[_AxisIndices] | None:
    known = constant_of(indices)
    if known is not None:
        parts = [_of_array(known[..., k]) for k in range(known.shape[-1])]
    else:
        parts = [_of_part(part) for part in _parts(indices)]
    found = [part for part in parts if part is not None]
    return found if found and len(found) == len(parts) else None


def _parts(indices: SSAValue) -> Sequence[SSAValue]:
    """Return the values that are concatenated to index tuples, one per entry."""
    op, last = indices.owner, len(shapes.shape_of(indices)) - 1
    if isinstance(op, ops.ConcatOp):
        is_joined = op.axis.value.data in (-1, last)
        return op.inputs if is_joined and all(shapes.shape_of(part)[-1] == 1 for part in op.inputs) else ()
    return (indices,) if shapes.shape_of(indices)[-1] == 1 else ()


def _of_part(value: SSAValue) -> _AxisIndices | None:
    """Analyse a tensor (..., 1), without its last axis."""
    op = value.owner
    if isinstance(op, ops.UnsqueezeOp) and _adds_last(op):
        return _follow_views(op.data)
    found = _follow_views(value)
    if found is None or found.axis is None:
        return found
    return _AxisIndices(found.start, found.axis - 1, found.size) if found.axis > 1 else None


def _adds_last(op: ops.UnsqueezeOp) -> bool:
    axes = constant_of(op.axes)
    return axes is not None and axes.size == 1 and int(axes.flat[0]) in (-1, len(shapes.shape_of(op.data)))


def _follow_views(value: SSAValue) -> _AxisIndices | None:
    """Analyse a value through ops that only change its shape, iteratively, as exporters may stack many."""
    views: list[ops.ExpandOp | ops.ReshapeOp | ops.UnsqueezeOp] = []
    while isinstance(op := value.owner, ops.ExpandOp | ops.ReshapeOp | ops.UnsqueezeOp):
        views.append(op)
        value = op.operands[0]
    found = _of_source(value)
    for op in reversed(views):
        found = found if found is None or isinstance(op, ops.ExpandOp) else _apply_view(found, op)
    return found


def _of_source(value: SSAValue) -> _AxisIndices | None:
    known, op = constant_of(value), value.owner
    if known is not None:
        return _of_array(known)
    if not isinstance(op, ops.RangeOp):
        return None
    start, step = constant_of(op.start), constant_of(op.delta)
    if start is None or step is None or step != 1:
        return None
    return _AxisIndices(int(start), 1, shapes.shape_of(value)[0])


def _apply_view(found: _AxisIndices, op: ops.ReshapeOp | ops.UnsqueezeOp) -> _AxisIndices | None:
    if found.axis is None:
        return found
    before, after = (_long_axes(shapes.shape_of(v)) for v in (op.operands[0], op.results[0]))
    return _AxisIndices(found.start, after[0], found.size) if len(before) == len(after) == 1 else None


def _long_axes(shape: Shape) -> list[int]:
    """Return the axes that may have sizes other than 1, counted from the end."""
    return [len(shape) - axis for axis, dim in enumerate(shape) if dim != 1]


def _of_array(array: np.ndarray) -> _AxisIndices | None:
    if not array.size:
        return None
    start = int(array.flat[0])
    axes = [axis for axis in range(array.ndim) if array.take(-1, axis).flat[0] != start]
    if not axes:
        return _AxisIndices(start) if (array == start).all() else None
    (axis, *others), size = axes, array.shape[axes[0]]
    places = np.arange(start, start + size).reshape(-1, *[1] * (array.ndim - axis - 1))  # pyright: ignore
    steps = cast(np.ndarray, places)
    return _AxisIndices(start, array.ndim - axis, size) if not others and (array == steps).all() else None
