"""Reads of each position of diff_src, gathered tap by tap, weighted and added.

For axes with inner axes: Gather copies whole rows. A position with fewer reads than others reads any row with
weight 0; if all other weights are equal, a row of zeros that is appended.
"""

from __future__ import annotations

from functools import lru_cache
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
from passes.builder.tensors import sum_values
from passes.cost.work import Sizes, Work
from passes.resize.axis_forms.bands import Bands
from passes.resize.axis_forms.base import AxisForm, as_dtype_of

MOST_TAPS = 4
"""Limit on the taps, unless the matrix is too large to multiply, even in bands."""


class Gathers(AxisForm):
    needs: ClassVar = (onnx.GatherOp, onnx.MulOp, onnx.AddOp, onnx.PadOp)

    def refuses(self, sampling: AxisSampling) -> str | None:
        taps = most_taps(sampling)
        if taps > MOST_TAPS and budget.is_within_budget(
            Bands().compile_time_cost(sampling), sampling.x + sampling.y
        ):
            return f"a position reads {taps} positions, more than {MOST_TAPS}"
        return None

    def compile_time_cost(self, sampling: AxisSampling) -> CompileTimeCost:
        """Count an index and a weight for each tap of each position of the result."""
        known = budget.sampling_cost(sampling)
        if budget.exceeds_limits(known):
            return known
        taps = most_taps(sampling)
        return known + CompileTimeCost(2 * taps * sampling.x, 3 * taps)

    def spreads_nonfinite(self, sampling: AxisSampling) -> str | None:
        _, weights = tables(sampling)
        if weights.all() or _is_common(weights, sampling.y):
            return None
        return "a position with fewer reads than others multiplies a row by 0"

    def works(self, work: Work, data: Sizes, axis: int, sampling: AxisSampling) -> None:
        taps, result = most_taps(sampling), (*data[:axis], sampling.x, *data[axis + 1 :])
        for _ in range(taps):
            work.gather(data, axis, [sampling.x])
        for _ in range(taps - 1):
            work.run("Add", result, result, result)

    def write(self, emit: OpBuilder, value: SSAValue, axis: int, sampling: AxisSampling) -> SSAValue:
        return gather_taps(emit, value, axis, *tables(sampling))


def gather_taps(
    emit: OpBuilder, value: SSAValue, axis: int, positions: np.ndarray, weights: np.ndarray
) -> SSAValue:
    """Sum weighted reads for X positions of an axis; both tables are (taps, X), or (taps, X..) to replace the
    axis by several."""
    y = shape_of(value)[axis]
    assert isinstance(y, int)
    if _is_common(weights, y):
        value, positions = _premultiply(emit, value, axis, positions, weights)
        weights = np.ones_like(weights)
    broadcast = [*weights.shape[1:], *[1] * (len(shape_of(value)) - 1 - axis)]
    taps = zip(positions, weights, strict=True)
    return sum_values(
        emit, (_tap(emit, value, axis, rows, factors.reshape(broadcast)) for rows, factors in taps)
    )


def _tap(emit: OpBuilder, value: SSAValue, axis: int, rows: np.ndarray, factors: np.ndarray) -> SSAValue:
    part = emit(onnx.GatherOp(value, emit.constant(rows), axis=axis))
    if np.all(factors == 1):
        return part
    return emit(onnx.MulOp(part, emit.constant(as_dtype_of(value, factors))))


def _is_common(weights: np.ndarray, y: int) -> bool:
    """Return whether all nonzero weights are equal, and appending a row of zeros, which copies y rows, costs
    less than products at X positions."""
    return bool(np.all((weights == 0) | (weights == weights.max()))) and (
        bool(weights.all()) or y <= 2 * weights[0].size
    )


def _premultiply(
    emit: OpBuilder, value: SSAValue, axis: int, positions: np.ndarray, weights: np.ndarray
) -> tuple[SSAValue, np.ndarray]:
    """Multiply the value by its only weight, before the Gathers copy it, and append a row of zeros for
    positions of weight 0."""
    rank, y = len(shape_of(value)), shape_of(value)[axis]
    assert isinstance(y, int)
    if weights.max() != 1:
        factor = as_dtype_of(value, np.array([weights.max()]))
        value = emit(onnx.MulOp(value, emit.constant(factor)))
    if weights.all():
        return value, positions
    pads = [0] * 2 * rank
    pads[rank + axis] = 1
    return emit(onnx.PadOp(value, emit.ints(pads))), np.where(weights == 0, y, positions)


@lru_cache(MEMO_SIZE)
def most_taps(sampling: AxisSampling) -> int:
    """Return the largest number of positions of diff_dst that one of diff_src reads."""
    readers = map(sampling.readers, parts(range(sampling.x)))
    return max(1, *(int((end - first).max()) for first, end in readers))


def tables(sampling: AxisSampling) -> tuple[np.ndarray, np.ndarray]:
    """Return (taps, X) positions of diff_dst, int64, ascending, and their weights."""
    shape = (most_taps(sampling), sampling.x)
    positions, weights = np.zeros(shape, np.int64), np.zeros(shape)
    for columns in parts(range(sampling.x)):
        first, end = sampling.readers(columns)
        for tap in range(shape[0]):
            read = np.flatnonzero(first + tap < end)
            rows, at = first[read] + tap, read + columns.start
            lower, _, fraction = sampling.taps(rows)
            positions[tap, at], weights[tap, at] = rows, np.where(lower == at, 1 - fraction, fraction)
    return positions, weights
