"""resize-to-ordered-sums: `nearest` with unequal numbers of reads, grouped by that number.

All axes are merged. The positions of diff_src that read n positions of diff_dst are summed by n Gathers of
whole rows, for each n; the sums are concatenated, and one Gather permutes them. Every row is read once, and
nothing is multiplied. ScatterND, which would add in one step, adds wrongly if two threads write to the same
position (onnxruntime 1.31).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar

import numpy as np
from xdsl.ir import SSAValue

from dialects.grad.resize import ResizeBackwardOp
from dialects.grad.sampling import AxisSampling, parts
from dialects.onnx import ops as onnx
from dialects.support.memo import SMALL_MEMO_SIZE
from dialects.support.shapes import shape_of
from passes.builder import budget
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import reshape, size_of, sum_values
from passes.strategies.base import Strategy, no_kernel
from passes.targets.target import Target

MOST_READ = 16
"""Limit on the reads of a position; with more, resizing axis by axis takes fewer additions."""


class ResizeToOrderedSums(Strategy):
    """Gathers and Adds grouped by the number of reads, permuted by a Gather."""

    name: ClassVar[str] = "resize-to-ordered-sums"
    ops: ClassVar = (ResizeBackwardOp,)

    def compile_time_cost(self, op: ResizeBackwardOp) -> CompileTimeCost:
        """Count an index per position of diff_dst and of diff_src."""
        positions = math.prod(s.y for s in op.samplings) + math.prod(s.x for s in op.samplings)
        return sum(
            map(budget.sampling_cost, op.samplings), CompileTimeCost(positions, MOST_READ * (MOST_READ + 1))
        )

    def refuses(self, op: ResizeBackwardOp, target: Target) -> str | None:
        if reason := no_kernel(target, op.diff_dst, onnx.GatherOp, onnx.AddOp, onnx.ConcatOp):
            return reason
        axes = sorted(op.axes)
        if axes != list(range(axes[0], axes[0] + len(axes))):
            return f"axes {axes} are not adjacent"
        if axes[-1] == len(shape_of(op.diff_dst)) - 1:
            return "the last axis is resized: rows of one element"
        counts = np.ones((), np.int64)
        for sampling in op.samplings:
            if sampling.interpolation == "linear":
                return "positions are weighted, not summed"
            counts = np.multiply.outer(counts, np.unique(_counts(sampling)))
        if counts.min() == 0:
            return "some positions read nothing"
        if counts.max() > MOST_READ:
            return f"a position reads {counts.max()} positions, more than {MOST_READ}"
        if counts.min() == counts.max():
            return f"every position reads {counts.max()}"
        return None

    def emit(self, op: ResizeBackwardOp, target: Target, emit: OpBuilder) -> SSAValue:
        value, first = op.diff_dst, min(op.axes)
        given = dict(zip(op.axes, op.samplings, strict=True))
        samplings = [given[axis] for axis in sorted(given)]
        sizes = [size_of(emit, value, axis) for axis in range(len(shape_of(value)))]
        all_rows = math.prod(s.y for s in samplings)
        rows = reshape(emit, value, [*sizes[:first], all_rows, *sizes[first + len(samplings) :]])
        sums: list[SSAValue] = []
        places, done = np.zeros([s.x for s in samplings], np.int64), 0
        for at, read in _classes(samplings):
            sums.append(
                sum_values(emit, (emit(onnx.GatherOp(rows, emit.constant(tap), axis=first)) for tap in read))
            )
            places[at] = np.arange(done, done + len(read[0]))
            done += len(read[0])
        joined = emit(onnx.ConcatOp(sums, axis=first))
        return emit(onnx.GatherOp(joined, emit.constant(places), axis=first))


def _classes(samplings: list[AxisSampling]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield for each number n of reads the mask of positions of diff_src with n reads, and the rows (n,
    positions) that they read, in ascending order."""
    adds_to, count = np.zeros((), np.int64), np.ones((), np.int64)
    for sampling in samplings:
        lower = np.concatenate([sampling.taps(rows)[0] for rows in parts(range(sampling.y))])
        adds_to = np.add.outer(adds_to * sampling.x, lower)
        count = np.multiply.outer(count, _counts(sampling))
    rows = np.argsort(adds_to, axis=None, kind="stable")
    starts = (np.cumsum(count) - count.reshape(-1)).reshape(count.shape)
    for n in np.unique(count).tolist():
        at = count == n
        yield at, rows[starts[at] + np.arange(n)[:, None]]


@lru_cache(SMALL_MEMO_SIZE)
def _counts(sampling: AxisSampling) -> np.ndarray:
    """Return how many positions of diff_dst each position of diff_src reads."""
    readers = map(sampling.readers, parts(range(sampling.x)))
    return np.concatenate([end - first for first, end in readers])
