"""Batching rules of ops that gather or scatter by indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from dialects.onnx import ops as onnx
from passes.builder.values import Value
from passes.vectorize.batch import Batch, BatchingRule, OpCall, Operand, Result
from passes.vectorize.rules.axes import all_along_axis


def gather(f: OpCall, b: Batch) -> Sequence[Result] | None:
    data, indices = f.present
    if not data.has_rank or not indices.has_rank:
        return None
    axis = f.value("axis", 0) % data.rank
    if not indices.batched:
        return f.again(b, [data.value, indices.value], axis=axis + 1)
    if not data.batched:
        return [b.move(f.along(b)[0], axis, 0)]
    return [_gather_rows(b, data, indices, axis)]


def _gather_rows(b: Batch, data: Operand, indices: Operand, axis: int) -> Value:
    """Return the elements at each row's own indices: those of one tensor with all rows along the axis."""
    moved = b.move(data.value, axis + 1, 1)
    count = b.sizes(moved)[1]
    length = b.vector([count]).cast(indices.value.dtype)
    index = (indices.value >= 0).where(indices.value, indices.value + length)
    starts = b.numbers().cast(indices.value.dtype) * length
    column = b.reshape(starts, [b.size, *[1] * indices.rank])
    found = b.fold(moved).apply(onnx.GatherOp, index + column, axis=0)
    if axis == 0:
        return found
    before = [1 + indices.rank + i for i in range(axis)]
    after = [1 + indices.rank + i for i in range(axis, data.rank - 1)]
    return b.transpose(found, [0, *before, *range(1, 1 + indices.rank), *after])


def gather_nd(f: OpCall, b: Batch) -> Sequence[Result] | None:
    data, indices = f.present
    if not data.has_rank or not indices.has_rank:
        return None
    if not data.batched and not f.value("batch_dims", 0):
        return f.along(b)
    return f.again(b, [b.expand(data), b.expand(indices)], batch_dims=f.value("batch_dims", 0) + 1)


def scatter_nd(f: OpCall, b: Batch) -> Sequence[Result] | None:
    """The number of the row comes before the indices into it."""
    if not all(x.has_rank for x in f.present):
        return None
    data, indices, updates = f.present
    index = b.expand(indices)
    sizes = b.sizes(index)
    column = b.reshape(b.numbers(), [b.size, *[1] * indices.rank])
    rows = column.apply(onnx.ExpandOp, b.vector([*sizes[:-1], 1]))
    whole = b.e.concat([rows, index], -1)
    return f.again(b, [b.expand(data), whole, b.expand(updates)])


RULES: Mapping[str, BatchingRule] = MappingProxyType(
    {
        **dict.fromkeys(("GatherElements", "ScatterElements"), all_along_axis),
        "Gather": gather,
        "GatherND": gather_nd,
        "ScatterND": scatter_nd,
    }
)
