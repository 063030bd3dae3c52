"""ScatterND and GatherND of a box as Slice and Concat."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.ir import OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from dialects.onnx import ops
from dialects.onnx.base import OnnxOp
from dialects.onnx.index_boxes import IndexRange, find_box
from dialects.support import shapes
from dialects.support.interfaces import set_type

COPIES_PER_TUPLE = 40
"""Elements copied in the time of one index tuple: 0.28 and 11 ns (onnxruntime 1.32, CPU)."""

MIN_BOX_FRACTION = 2 / 3
"""Fraction of the data from which the rewrite is always applied: at most half as much lies around the box."""


class _OpList:
    """Ops in the order of their creation."""

    def __init__(self) -> None:
        self.ops: list[OnnxOp] = []

    def __call__(self, op: OnnxOp) -> OpResult:
        self.ops.append(op)
        return op.results[0]

    def ints(self, *values: int) -> OpResult:
        return self(ops.ConstantOp(np.array(values, np.int64)))

    def cut(self, data: SSAValue, axis: int, start: int, end: int) -> SSAValue:
        return self(ops.SliceOp(data, self.ints(start), self.ints(end), self.ints(axis)))


class ScatterOfBox(RewritePattern):
    """`x[:, 1:3] = y` as Slice and Concat, or as the updates if the box is all of the data.

    Slice and Concat copy the data around the box twice. A box of few long rows stays, since ScatterND copies
    rows efficiently.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ops.ScatterNDOp, rewriter: PatternRewriter, /) -> None:
        if op.reduction is not None and op.reduction.data != "none":
            return
        data = shapes.shape_of(op.data)
        box = find_box(op.indices, data, shapes.shape_of(op.updates))
        if box is None or not _is_worth_it(box, data):
            return
        write = _OpList()
        updates: SSAValue = op.updates
        if dropped := [axis for axis, places in enumerate(box) if places.dropped]:
            updates = write(ops.UnsqueezeOp(updates, write.ints(*dropped)))
        cut = [axis for axis, places in enumerate(box) if not places.is_whole(data[axis])]
        _replace(op, _insert_box(write, op.data, updates, box, cut), write, rewriter)


def _is_worth_it(box: Sequence[IndexRange], data: shapes.Shape) -> bool:
    """Return whether copies take no longer than index tuples; rows of unknown length count as long."""
    inside = 1.0
    for places, dim in zip(box, data, strict=False):
        if not places.is_whole(dim):
            assert isinstance(dim, int), "a part of an axis has a known size"
            inside *= _size(places) / dim
    row = shapes.static(data[len(box) :])
    tuples = 0.0 if row is None else inside / max(math.prod(row), 1)
    return inside >= MIN_BOX_FRACTION or COPIES_PER_TUPLE * tuples >= 1 - inside


def _insert_box(
    write: _OpList, data: SSAValue, updates: SSAValue, box: Sequence[IndexRange], axes: Sequence[int]
) -> SSAValue:
    """Return the data with the updates in their box, which is smaller than the data on `axes`. The last axis
    is completed first, within the box's range of the other axes."""
    cuts = [data]
    for axis in axes[:-1]:
        start = box[axis].start
        cuts.append(write.cut(cuts[-1], axis, start, start + _size(box[axis])))
    for around, axis in zip(reversed(cuts), reversed(axes), strict=False):
        start, size = box[axis].start, shapes.shape_of(around)[axis]
        assert isinstance(size, int), "a part of an axis has a known size"
        end, parts = start + _size(box[axis]), [updates]
        if start > 0:
            parts.insert(0, write.cut(around, axis, 0, start))
        if end < size:
            parts.append(write.cut(around, axis, end, size))
        updates = write(ops.ConcatOp(parts, axis=axis))
    return updates


def _size(places: IndexRange) -> int:
    assert isinstance(places.size, int), "a part of an axis has a known size"
    return places.size


class GatherOfBox(RewritePattern):
    """`x[:, 1:3]` and `x[:, 0]` as Slice and Squeeze."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ops.GatherNDOp, rewriter: PatternRewriter, /) -> None:
        if op.batch_dims is not None and op.batch_dims.value.data:
            return
        data = shapes.shape_of(op.data)
        box = find_box(op.indices, data, shapes.shape_of(op.output))
        if box is None:
            return
        write, value = _OpList(), op.data
        for axis, places in enumerate(box):
            if not places.is_whole(data[axis]):
                value = write.cut(value, axis, places.start, places.start + _size(places))
        if dropped := [axis for axis, places in enumerate(box) if places.dropped]:
            value = write(ops.SqueezeOp(value, write.ints(*dropped)))
        _replace(op, value, write, rewriter)


def _replace(op: OnnxOp, value: SSAValue, write: _OpList, rewriter: PatternRewriter) -> None:
    """Replace by a value of the same type; an existing value must have it already."""
    declared = op.results[0].type
    if write.ops:
        set_type(value, declared)
    if value.type == declared:
        rewriter.replace(op, write.ops, [value])
