"""A sampling with period P -> Q: one small matrix for all blocks of the axis.

The axis is reshaped into blocks of m P positions, without a copy, and all are multiplied by one matrix (m P,
1 + m Q + 1). Its outer columns are the contributions to neighbouring blocks; at the ends of the axis, where
coordinates are clamped, they belong to the first and the last position. `nearest` has no such columns if no
position is shared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from xdsl.ir import SSAValue

from dialects.grad.sampling import AxisSampling
from dialects.onnx import ops as onnx
from dialects.support.memo import SMALL_MEMO_SIZE
from dialects.support.shapes import shape_of
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import contract, product, reshape, size_of
from passes.cost.work import Sizes, Work
from passes.resize.axis_forms.base import as_dtype_of
from passes.resize.axis_forms.periods import PeriodicForm, period_sizes, three_periods

WIDTH = 16
"""Desired columns of the matrix: as many as the runtime's kernels compute at once (AVX-512, f32)."""


@dataclass(frozen=True)
class Period:
    """`count` blocks of `p` positions of diff_dst to `q` of diff_src.

    `matrix` (p, before + q + after): contributions of a block to the previous one, itself, the next one.
    """

    p: int
    q: int
    count: int
    before: int
    after: int
    matrix: np.ndarray


class Blocks(PeriodicForm):
    needs: ClassVar = (onnx.MatMulOp, onnx.SplitOp, onnx.SliceOp, onnx.ConcatOp, onnx.AddOp, onnx.PadOp)
    NODES: ClassVar = 20

    def sizes(self, sampling: AxisSampling) -> tuple[int, int, int]:
        return _sizes(sampling)

    def works(self, work: Work, data: Sizes, axis: int, sampling: AxisSampling) -> None:
        period = period_of(sampling)
        outer, behind = data[:axis], data[axis + 1 :]
        widths = [1] * period.before + _ends(period.q) + [1] * period.after
        flat = (math.prod(behind),) if behind else ()
        work.contract((*outer, period.count, period.p, *flat), axis + 1, sum(widths))
        if period.before or period.after:
            work.split((*outer, period.count, sum(widths), *flat), axis + 1, widths)

    def write(self, emit: OpBuilder, value: SSAValue, axis: int, sampling: AxisSampling) -> SSAValue:
        period = period_of(sampling)
        rank = len(shape_of(value))
        outer = [size_of(emit, value, a) for a in range(axis)]
        inner = [size_of(emit, value, a) for a in range(axis + 1, rank)]
        flat = [product(emit, inner)] if inner else []
        blocks = reshape(emit, value, [*outer, period.count, period.p, *flat])
        matrix = emit.constant(as_dtype_of(value, period.matrix))
        given = contract(emit, blocks, axis + 1, matrix)
        return reshape(emit, _add_neighbours(emit, given, axis, period), [*outer, sampling.x, *inner])


@lru_cache(SMALL_MEMO_SIZE)
def period_of(sampling: AxisSampling) -> Period:
    p, q, count = _sizes(sampling)
    three = three_periods(sampling, p, q)
    rows = three.part(range(p, 2 * p), range(3 * q))
    used = np.flatnonzero(rows.any(axis=0))
    before, after = max(0, q - int(used[0])), max(0, int(used[-1]) - (2 * q - 1))
    assert max(before, after) <= 1
    return Period(p, q, count, before, after, rows[:, q - before : 2 * q + after])


def _sizes(sampling: AxisSampling) -> tuple[int, int, int]:
    """Return the sizes whose matrix is closest to WIDTH columns; larger factors are never the closest."""
    return period_sizes(sampling, 2 * WIDTH, lambda q: (abs(q + 2 - WIDTH), q))


def _add_neighbours(emit: OpBuilder, given: SSAValue, axis: int, period: Period) -> SSAValue:
    """Add neighbours' columns of (.., count, before + q + after, ..) to the ends: (.., count, q, ..)."""
    if not period.before and not period.after:
        return given
    widths = [1] * period.before + _ends(period.q) + [1] * period.after
    split = onnx.SplitOp(given, emit.ints(widths), axis=axis + 1, results=len(widths))
    emit.ops.append(split)
    parts = list(split.results)
    left = parts.pop(0) if period.before else None
    right = parts.pop() if period.after else None
    first = _end_terms(emit, left, right, axis, (range(1), range(period.count - 1)))
    end = period.count - 1
    last = _end_terms(emit, left, right, axis, (range(1, period.count), range(end, period.count)))
    parts[0] = emit(onnx.AddOp(parts[0], first))
    parts[-1] = emit(onnx.AddOp(parts[-1], last))
    return emit(onnx.ConcatOp(parts, axis=axis + 1)) if len(parts) > 1 else parts[0]


def _ends(q: int) -> list[int]:
    """Return q as first position, middle and last."""
    return [1] * q if q <= 2 else [1, q - 2, 1]


def _end_terms(
    emit: OpBuilder, left: SSAValue | None, right: SSAValue | None, axis: int, takes: tuple[range, range]
) -> SSAValue:
    """Return the contributions to one end of every block, (.., count, 1, ..), from the outer columns.

    First positions: block 0 gets its own left column, block b the right one of block b - 1.
    Last positions: block b gets the left column of block b + 1, the last its own right one.
    """
    parts = [
        _part(emit, column, axis, take)
        for column, take in zip((left, right), takes, strict=True)
        if column is not None
    ]
    if len(parts) == 2:
        return emit(onnx.ConcatOp(parts, axis=axis))
    rank = len(shape_of(parts[0]))
    zeros = [0] * (2 * rank)
    zeros[axis if left is None else rank + axis] = len(takes[0] if left is None else takes[1])
    return emit(onnx.PadOp(parts[0], emit.ints(zeros)))


def _part(emit: OpBuilder, value: SSAValue, axis: int, take: range) -> SSAValue:
    bounds = ([take.start], [take.stop], [axis])
    return emit(onnx.SliceOp(value, *map(emit.ints, bounds)))
