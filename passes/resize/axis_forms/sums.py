"""Enlarging by a whole factor r with `nearest`: every position of diff_src sums r positions of diff_dst.

As (.., X, r, inner) that is a ReduceSum over r. With few inner elements ReduceSum is slow, most of all with
one; then r Gathers take one of the r positions each, and are added.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.ir import SSAValue

from dialects.grad.sampling import AxisSampling, parts
from dialects.onnx import ops as onnx
from dialects.support.memo import MEMO_SIZE
from dialects.support.shapes import shape_of
from passes.builder import budget
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import Size, reshape, size_of, sum_values
from passes.cost.work import Sizes, Work
from passes.resize.axis_forms.base import AxisForm

MOST_GATHERS, MOST_GATHERS_OF_ONE = 8, 4
SHORT_RUN = 1024
"""Limits up to which Gathers are faster than ReduceSum, with so many inner elements at most, or none: with 32
inner 0.5 against 2.9 ms (2x160x160 halved), on the last axis 0.27 against 0.81 (640 rows to 320), with 512
inner the same (onnxruntime 1.31, AMD EPYC)."""


class Sums(AxisForm):
    needs: ClassVar = (onnx.ReduceSumOp, onnx.GatherOp, onnx.AddOp)

    def refuses(self, sampling: AxisSampling) -> str | None:
        if sampling.y % sampling.x:
            return f"{sampling.y} is no multiple of {sampling.x}"
        return _not_sums(sampling)

    def compile_time_cost(self, sampling: AxisSampling) -> CompileTimeCost:
        """Count no constants; checking that all positions are summed alike reads the taps of each."""
        return budget.sampling_cost(sampling) + CompileTimeCost(nodes=2 * MOST_GATHERS + 2)

    def works(self, work: Work, data: Sizes, axis: int, sampling: AxisSampling) -> None:
        outer, behind = data[:axis], data[axis + 1 :]
        ratio = sampling.y // sampling.x
        result = (*outer, sampling.x, *behind)
        if ratio == 1:
            return
        pieces = (*outer, sampling.x, ratio, *behind)
        if _is_gathered(ratio, behind):
            work.split(pieces, axis + 1, [1] * ratio)
            for _ in range(ratio - 1):
                work.run("Add", result, result, result)
        elif math.prod(behind) == 1:
            work.run("ReduceSum", result, (*outer, sampling.x, ratio), axes=[axis + 1])
        else:
            work.run("ReduceSum", result, pieces, axes=[axis + 1])

    def write(self, emit: OpBuilder, value: SSAValue, axis: int, sampling: AxisSampling) -> SSAValue:
        sizes = [size_of(emit, value, a) for a in range(len(shape_of(value)))]
        ratio = sampling.y // sampling.x
        outer, behind = [*sizes[:axis], sampling.x], sizes[axis + 1 :]
        known = [size for size in behind if isinstance(size, int)]
        if len(known) == len(behind) and _is_gathered(ratio, known):
            return _sum_positions(emit, reshape(emit, value, [*outer, ratio, *behind]), axis + 1, ratio)
        if behind and len(known) == len(behind) and math.prod(known) == 1:
            # with an inner axis of size 1 ReduceSum takes a hundred times as long
            return reshape(emit, _sum_axis(emit, value, [*outer, ratio], axis + 1), [*outer, *behind])
        return _sum_axis(emit, value, [*outer, ratio, *behind], axis + 1)


def _is_gathered(ratio: int, behind: Sequence[int]) -> bool:
    most = MOST_GATHERS if behind else MOST_GATHERS_OF_ONE
    return ratio <= most and math.prod(behind) <= SHORT_RUN


def _sum_axis(emit: OpBuilder, value: SSAValue, sizes: Sequence[Size], axis: int) -> SSAValue:
    return emit(onnx.ReduceSumOp(reshape(emit, value, sizes), emit.ints([axis]), keepdims=0))


def _sum_positions(emit: OpBuilder, value: SSAValue, axis: int, count: int) -> SSAValue:
    """Sum the `count` positions of an axis, and drop it."""
    places = (np.array(i, np.int64) for i in range(count))
    return sum_values(emit, (emit(onnx.GatherOp(value, emit.constant(place), axis=axis)) for place in places))


@functools.lru_cache(MEMO_SIZE)
def _not_sums(sampling: AxisSampling) -> str | None:
    ratio, by_ratio = sampling.y // sampling.x, True
    for rows in parts(range(sampling.y)):
        lower, _, fraction = sampling.taps(rows)
        if fraction.any():
            return "positions are weighted, not summed"
        by_ratio &= np.array_equal(lower, np.arange(rows.start, rows.stop) // ratio)
    return None if by_ratio else f"positions are not sampled {ratio} by {ratio}"
