"""Adjoint of Gather: scatter-add elements back to the tensor that they were gathered from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.values import constant_of
from dialects.support.dtypes import known_dtype
from passes.autodiff.common.slice_adjoint import pad_zeros, size_of, vector
from passes.builder.budget import FREE_CONSTANTS
from passes.builder.values import Value

SMALL_MATRIX = 256
"""Largest 0/1 matrix, in elements, whose product costs less than a Scatter."""


def scatter_back(g: Value, indices: Value, axis: int, size: int | Value) -> Value:
    """Return the adjoint of y = Gather(x, indices, axis): each element of x gets the sum of its copies.

    `g` has the axes of `indices` at position `axis`; `size` is that of x along it.
    """
    known = constant_of(indices.value)
    if known is not None and isinstance(size, int) and known.size:
        found = _by_constant_indices(g, known % size, axis, size)
        if found is not None:
            return found
    front = range(axis, axis + indices.rank)
    others = [i for i in range(g.rank) if i not in front]
    updates = _transpose(g, [*front, *others])
    sizes = vector(g, [size, *(size_of(g, i) for i in others)])
    zeros = g.e.scalar(0, g).apply(onnx.ExpandOp, sizes)
    places = indices.unsqueeze([indices.rank])
    found = zeros.apply(onnx.ScatterNDOp, places, updates, reduction="add")
    return _transpose(found, [*range(1, axis + 1), 0, *range(axis + 1, found.rank)])


def _transpose(x: Value, perm: Sequence[int]) -> Value:
    return x if list(perm) == list(range(x.rank)) else x.transpose(perm)


def _by_constant_indices(g: Value, indices: np.ndarray, axis: int, size: int) -> Value | None:
    """Return the adjoint for constant indices, or None: a Pad for consecutive ones, a Gather for a
    permutation, a product with a 0/1 matrix for few indices on the last axis."""
    e, flat = g.e, indices.reshape(-1)
    if flat.size > 1 and indices.ndim != 1:
        return None
    if (np.diff(flat) == 1).all():
        if indices.ndim == 0:
            g = g.unsqueeze([axis])
        elif indices.ndim > 1:
            g = g.squeeze(range(axis, axis + indices.ndim - 1))
        zeros = ([n if i == axis else 0 for i in range(g.rank)] for n in (flat[0], size - 1 - flat[-1]))
        return pad_zeros(g, *([int(n) for n in part] for part in zeros))
    if sorted(flat) == list(range(size)):
        back = np.argsort(flat).astype(np.int64)
        return g.apply(onnx.GatherOp, e(e.emit.constant(back)), axis=axis)
    if axis == g.rank - 1 and flat.size * size <= SMALL_MATRIX and not e.strict_ieee:
        places = flat[:, None] == np.arange(size)
        return g.apply(onnx.MatMulOp, e(e.emit.constant(places.astype(numpy_of(g)))))
    return None


def with_batch(indices: Value, sizes: Sequence[int | Value]) -> Value:
    """Prepend leading-axis indices to index tuples (..., k): (..., len(sizes) + k)."""
    e = indices.e
    dims: list[int | Value] = [size_of(indices, i) for i in range(indices.rank - 1)]
    target = vector(indices, [*dims, 1])
    columns: list[SSAValue] = []
    for axis, size in enumerate(sizes):
        numbers = iota(size, indices).unsqueeze(range(1, indices.rank - axis))
        columns.append(numbers.apply(onnx.ExpandOp, target).value)
    return e(e.emit(onnx.ConcatOp([*columns, indices.value], axis=indices.rank - 1)))


def iota(size: int | Value, like: Value) -> Value:
    """Return 0, 1, ..., size - 1: a constant, or a Range if that would be large."""
    e = like.e
    if isinstance(size, int) and size <= FREE_CONSTANTS:
        return e(e.emit.constant(np.arange(size, dtype=np.int64)))
    size = size if isinstance(size, Value) else e.ints([size])
    zero, one = (e.scalar(i, size) for i in (0, 1))
    return zero.apply(onnx.RangeOp, size.squeeze([0]), one)


def numpy_of(value: Value) -> np.dtype:
    """Return the numpy dtype of a value."""
    return known_dtype(value.dtype).numpy
