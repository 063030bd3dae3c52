"""ScatterND as a product with a 0/1 matrix, for runtimes whose `add` is wrong.

The matrix has a row for each element and a column for each update: only for few of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.support.dtypes import of_mlir
from dialects.support.shapes import has_rank, shape_of
from passes.autodiff.common.primal import Primal
from passes.builder.values import Builder, Value
from passes.decompositions.registry import Results


def _end(dtype: Any, sign: int) -> np.ndarray:
    """Return the largest number of a dtype, or for a negative sign the lowest."""
    if not np.issubdtype(dtype, np.integer):
        return np.array(sign * np.inf, dtype)
    limits = np.iinfo(dtype)
    return np.array(limits.max if sign > 0 else limits.min, dtype)


REDUCTIONS: Mapping[str, tuple[type[OnnxOp], Callable[[Any], np.ndarray]]] = {
    "mul": (onnx.ReduceProdOp, lambda dtype: np.ones((), dtype)),
    "max": (onnx.ReduceMaxOp, lambda dtype: _end(dtype, -1)),
    "min": (onnx.ReduceMinOp, lambda dtype: _end(dtype, 1)),
}
"""The reduction of each kind, and its neutral element."""


def scatter_nd(f: Primal, e: Builder) -> Results | None:
    """Decompose `add` and `none`; ONNX leaves `none` undefined for repeated indices."""
    return None if f.value("reduction", "none") in REDUCTIONS else scatter_or_reduce(f, e)


def scatter_or_reduce(f: Primal, e: Builder) -> Results | None:
    """Decompose all reductions."""
    op, emit = f.op_as(onnx.ScatterNDOp), e.emit
    how = op.call().attribute("reduction", "none")
    depth = shape_of(op.indices)[-1] if has_rank(op.indices) else None
    if not isinstance(depth, int) or not has_rank(op.data):
        return None
    data, updates = e(op.data), e(op.updates)
    sizes = [e(emit.sizes(op.data, [axis])) for axis in range(data.rank)]
    place = _flat_indices(e(op.indices), sizes[:depth])
    count, width = _product(sizes[:depth], e), _product(sizes[depth:], e)
    rows, written = (
        value.apply(onnx.ReshapeOp, e(emit.concat([size.value, width.value])), allowzero=1)
        for value, size in ((data, count), (updates, place.apply(onnx.ShapeOp)))
    )
    hits = _line(count).unsqueeze([1]).equals(place)
    if how in REDUCTIONS:
        found = _reduce_hits(how, rows, hits, written)
        return [found.apply(onnx.ReshapeOp, e.shape(data), allowzero=1).value]
    sums = hits.cast(data.dtype).apply(onnx.MatMulOp, written)
    if how == "add":
        found = rows + sums
    else:
        some = hits.cast(data.dtype).sum_axes([1], keepdims=1) > 0
        found = some.where(sums, rows)
    return [found.apply(onnx.ReshapeOp, e.shape(data), allowzero=1).value]


def _reduce_hits(how: str, rows: Value, hits: Value, written: Value) -> Value:
    """Reduce each row with the rows of `written` that hit it."""
    e, ends = rows.e, rows.e.ints([2])
    reduction, neutral = REDUCTIONS[how]
    none = e(e.emit.constant(neutral(_numpy(rows))))
    given = written.unsqueeze([0])
    taken = hits.apply(onnx.UnsqueezeOp, ends).where(given, none)
    own = rows.unsqueeze([1])
    every = e.concat([own, taken], 1)
    return every.apply(reduction, e.ints([1]), keepdims=0)


def _numpy(x: Value) -> Any:
    dtype = of_mlir(x.dtype)
    assert dtype is not None
    return dtype.numpy


def _flat_indices(indices: Value, sizes: Sequence[Value]) -> Value:
    """Return flat indices from index tuples, as a vector."""
    e, total = indices.e, indices.e.ints([0])
    for axis, size in enumerate(sizes):
        column = indices.apply(onnx.GatherOp, e(e.emit.constant(np.array(axis, np.int64))), axis=-1)
        counted = (column < 0).where(column + size, column)
        total = total * size + counted
    return total.apply(onnx.ReshapeOp, e.ints([-1]))


def _product(sizes: Sequence[Value], e: Builder) -> Value:
    return e(e.emit.product([size.value for size in sizes]))


def _line(count: Value) -> Value:
    e = count.e
    zero, one = (e(e.emit.constant(np.array(value, np.int64))) for value in (0, 1))
    return zero.apply(onnx.RangeOp, count.squeeze([0]), one)
