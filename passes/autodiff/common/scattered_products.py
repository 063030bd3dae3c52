"""Products of the other updates with the same index, for each update of a Scatter with `mul`.

No division and no count of zeros: exact at zeros, and for higher derivatives. Takes n times the memory of the
updates, n the number of updates that may collide.
"""

from __future__ import annotations

from dialects.onnx import ops as onnx
from passes.autodiff.common.gather_adjoint import iota
from passes.autodiff.common.slice_adjoint import size_of, vector
from passes.builder.values import Value


def others_along(updates: Value, indices: Value, axis: int, x: Value) -> Value:
    """Return those products for ScatterElements into `x`, where updates collide along `axis` only."""
    e, last = updates.e, updates.rank - 1
    perm = [*(i for i in range(updates.rank) if i != axis), axis]
    updates, places = (v.transpose(perm) for v in (updates, _from_0(indices, x, axis)))
    meet = _collisions(places, size_of(updates, last))
    factors = meet.where(updates.unsqueeze([-2]), 1)
    found = factors.apply(onnx.ReduceProdOp, e.ints([-1]), keepdims=0)
    return found.transpose([perm.index(i) for i in range(updates.rank)])


def others_of_tuples(updates: Value, indices: Value, x: Value) -> Value:
    """Return those products for ScatterND into `x`, where any two slices may collide."""
    e = updates.e
    length = indices.rank - 1 + x.rank - updates.rank  # of an index tuple
    inner = [size_of(x, axis) for axis in range(length, x.rank)]
    numbers = _numbers(indices, x, length)
    count = numbers.apply(onnx.ShapeOp)
    rows = updates.apply(onnx.ReshapeOp, vector(updates, [count, *inner]), allowzero=1)
    meet = _collisions(numbers, count)
    if inner:
        meet = meet.unsqueeze(range(2, 2 + len(inner)))
    factors = meet.where(rows.unsqueeze([0]), 1)
    found = factors.apply(onnx.ReduceProdOp, e.ints([1]), keepdims=0)
    return found.apply(onnx.ReshapeOp, e.shape(updates), allowzero=1).assume_shape(updates.shape)


def _numbers(indices: Value, x: Value, length: int) -> Value:
    """Return a vector of flat indices, one for each index tuple."""
    e = indices.e
    number: Value | None = None
    for axis in range(length):
        column = indices.apply(onnx.GatherOp, e.scalar(axis, indices), axis=indices.rank - 1)
        column = _from_0(column.apply(onnx.ReshapeOp, e.ints([-1])), x, axis)
        number = column if number is None else number * _size(x, axis) + column
    assert number is not None
    return number


def _from_0(indices: Value, x: Value, axis: int) -> Value:
    """Return indices along an axis of x, negative ones wrapped."""
    return (indices < 0).where(indices + _size(x, axis), indices)


def _size(x: Value, axis: int) -> Value:
    size = size_of(x, axis)
    return size if isinstance(size, Value) else x.e.ints([size])


def _collisions(places: Value, count: int | Value) -> Value:
    """Return the matrix of equal indices on the last axis of length `count`, without its diagonal."""
    number = iota(count, places)
    apart = number.unsqueeze([1]).equals(number).apply(onnx.NotOp)
    same = places.unsqueeze([-1]).equals(places.unsqueeze([-2]))
    return same & apart
