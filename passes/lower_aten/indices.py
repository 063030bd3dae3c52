"""Index vectors and scatters along an axis."""

from __future__ import annotations

import numpy as np

from dialects.onnx import ops as onnx
from dialects.shapes.forms import Form
from passes.builder.values import Value
from passes.lower_aten.call import Call

MOST_CONSTANT = 1024
"""Number of indices up to which they are a constant."""


def iota(f: Call, size: Form) -> Value:
    """Return the vector 0, 1, ... of a size."""
    if isinstance(size, int) and size <= MOST_CONSTANT:
        return f.e.constant(np.arange(size))
    start, end, step = (f.vector([number]).squeeze([0]) for number in (0, size, 1))
    return start.apply(onnx.RangeOp, end, step)


def first_of(f: Call, a: Value, axis: int, count: Form) -> Value:
    """Return the first elements of an axis."""
    if a.shape[axis] == count:
        return a
    bounds = (f.vector([bound]) for bound in (0, count))
    shape = (*a.shape[:axis], count, *a.shape[axis + 1 :])
    return a.apply(onnx.SliceOp, *bounds, f.e.ints([axis])).assume_shape(shape)


def front(rank: int, axis: int) -> list[int]:
    """Return the permutation that moves an axis to the front."""
    return [axis, *(i for i in range(rank) if i != axis)]


def back(rank: int, axis: int) -> list[int]:
    """Return the permutation that moves the first axis to a position."""
    return [*range(1, axis + 1), 0, *range(axis + 1, rank)]


def scatter_rows(x: Value, axis: int, indices: Value, updates: Value, reduction: str = "none") -> Value:
    """Write updates, which have the axes of `x`, at positions (a vector) of an axis of `x`."""
    places = indices.unsqueeze([1])
    if axis == 0:
        return x.apply(onnx.ScatterNDOp, places, updates, reduction=reduction)
    perm = front(x.rank, axis)
    found = x.transpose(perm).apply(onnx.ScatterNDOp, places, updates.transpose(perm), reduction=reduction)
    return found.transpose(back(x.rank, axis))
