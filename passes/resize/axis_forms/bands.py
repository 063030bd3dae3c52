"""The sampling matrix without its zeros.

A position of the result reads a band of diff_dst: about 2 Y / X positions if the forward op enlarged, 2 or 3
if it shrank. The result axis is cut into blocks; each is the product of a band of diff_dst and a part of the
matrix. B blocks need about 1 / B of the multiplications, and the same copies (Slice of the bands, Concat of
the blocks).

With blocks of one size one Gather takes all bands and one MatMul multiplies them, without a Concat. If the
blocks do not divide the axis, the rows after its end are cropped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import ClassVar

import numpy as np
from xdsl.ir import SSAValue

from dialects.grad.sampling import AxisSampling, parts
from dialects.onnx import ops as onnx
from dialects.support.memo import MEMO_SIZE, SMALL_MEMO_SIZE
from dialects.support.shapes import shape_of
from passes.builder import budget
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import contract, multiply_left, product, reshape, size_of
from passes.cost.graph import SMALL
from passes.cost.work import Sizes, Work
from passes.resize.axis_forms.base import MATRIX_SPREADS_NONFINITE, AxisForm, as_dtype_of

MOST_BLOCKS, LARGEST_BLOCK, MOST_AT_ALL = 64, 256, 1024
"""Limits on the blocks. More than MOST_BLOCKS are used only to keep a block's matrix below LARGEST_BLOCK
squared, and never more than MOST_AT_ALL: each is several nodes."""


@dataclass(frozen=True)
class Block:
    """Positions of the result (columns of the matrix), and those of diff_dst (rows)."""

    columns: range
    rows: range


@dataclass(frozen=True)
class Bands(AxisForm):
    """`width`: positions of the longer side in a block. Small products are inefficient."""

    needs: ClassVar = (onnx.MatMulOp, onnx.SliceOp, onnx.ConcatOp)

    width: int = 40

    def refuses(self, sampling: AxisSampling) -> str | None:
        if sampling.x < 2:
            return "one position of the result is one block"
        return None

    def compile_time_cost(self, sampling: AxisSampling) -> CompileTimeCost:
        known = budget.sampling_cost(sampling)
        if budget.exceeds_limits(known):
            return known
        count = self.block_count(sampling)
        return known + CompileTimeCost(_elements(sampling, count), 5 * count)

    def spreads_nonfinite(self, sampling: AxisSampling) -> str | None:
        return MATRIX_SPREADS_NONFINITE

    def works(self, work: Work, data: Sizes, axis: int, sampling: AxisSampling) -> None:
        outer, behind = data[:axis], data[axis + 1 :]
        cuts: set[range] = set()
        products: set[tuple[range, int]] = set()
        parts: list[Sizes] = []
        for block in blocks(sampling, self.block_count(sampling)):
            rows, columns = len(block.rows), len(block.columns)
            parts.append((*outer, columns, *behind))
            if block.rows not in cuts:
                work.cut(data, (*outer, rows, *behind))
            if (block.rows, columns) not in products:
                work.contract((*outer, rows, *behind), axis, columns)
            cuts.add(block.rows)
            # equal small matrices are merged
            products |= {(block.rows, columns)} if rows * columns <= SMALL else set()
        work.run("Concat", (*outer, sampling.x, *behind), *parts, axis=axis)

    def write(self, emit: OpBuilder, value: SSAValue, axis: int, sampling: AxisSampling) -> SSAValue:
        results: list[SSAValue] = []
        for block in blocks(sampling, self.block_count(sampling)):
            band = _band(emit, value, axis, block.rows)
            matrix = sampling.part(block.rows, block.columns)
            results.append(contract(emit, band, axis, emit.constant(as_dtype_of(value, matrix))))
        return emit(onnx.ConcatOp(results, axis=axis))

    def block_count(self, sampling: AxisSampling) -> int:
        """Return the number of blocks of an axis, at least 2."""
        longest = max(sampling.x, sampling.y)
        fine, coarse = longest // self.width, longest // LARGEST_BLOCK
        wanted = max(min(fine, MOST_BLOCKS), min(coarse, MOST_AT_ALL))
        return min(sampling.x, max(2, wanted))


@dataclass(frozen=True)
class GatheredBands(AxisForm):
    """Blocks of one size close to `WANTED`, if possible a divisor of X: smaller products are inefficient,
    larger ones multiply more zeros."""

    needs: ClassVar = (onnx.MatMulOp, onnx.GatherOp, onnx.SliceOp)

    WANTED: ClassVar = 10
    SIZES: ClassVar = range(6, 25)

    def refuses(self, sampling: AxisSampling) -> str | None:
        if sampling.x <= self.SIZES[0]:
            return f"{sampling.x} are not two or more blocks of at least {self.SIZES[0]}"
        return None

    def compile_time_cost(self, sampling: AxisSampling) -> CompileTimeCost:
        known = budget.sampling_cost(sampling)
        if self.refuses(sampling) or budget.exceeds_limits(known):
            return known
        size = self._size(sampling)
        _, width = _band_starts(sampling, size)
        return known + CompileTimeCost(-(-sampling.x // size) * width * (size + 1), 10)

    def spreads_nonfinite(self, sampling: AxisSampling) -> str | None:
        return MATRIX_SPREADS_NONFINITE

    def works(self, work: Work, data: Sizes, axis: int, sampling: AxisSampling) -> None:
        size = self._size(sampling)
        count, (_, width) = -(-sampling.x // size), _band_starts(sampling, size)
        outer, behind = data[:axis], data[axis + 1 :]
        bands = work.gather((*outer, sampling.y, math.prod(behind)), axis, [count, width])
        work.multiply(work.constant((count, size, width)), bands)
        if count * size != sampling.x:
            work.cut((*outer, count * size, *behind), (*outer, sampling.x, *behind))

    def write(self, emit: OpBuilder, value: SSAValue, axis: int, sampling: AxisSampling) -> SSAValue:
        places, matrices = _uniform_bands(sampling, self._size(sampling))
        sizes = [size_of(emit, value, a) for a in range(len(shape_of(value)))]
        outer, behind = sizes[:axis], sizes[axis + 1 :]
        rows = reshape(emit, value, [*outer, sampling.y, product(emit, behind)])
        bands = emit(onnx.GatherOp(rows, emit.constant(places), axis=axis))
        found = multiply_left(emit, emit.constant(as_dtype_of(value, matrices)), bands)
        count, size, _ = matrices.shape
        whole = reshape(emit, found, [*outer, count * size, *behind])
        return whole if count * size == sampling.x else _band(emit, whole, axis, range(sampling.x))

    def _size(self, sampling: AxisSampling) -> int:
        """Return the size with the least excess at the end of the axis, then the closest to `WANTED`."""
        exact = [size for size in self.SIZES if sampling.x % size == 0 and size < sampling.x]
        near = [size for size in self.SIZES if size < min(sampling.x, 2 * self.WANTED)]
        return min(exact or near, key=lambda size: (-sampling.x % size, abs(size - self.WANTED)))


@lru_cache(SMALL_MEMO_SIZE)
def blocks(sampling: AxisSampling, count: int) -> list[Block]:
    """Cut the result's positions into equal parts, each with the positions of diff_dst that contribute."""
    return _between(sampling, [sampling.x * i // count for i in range(count + 1)])


def _between(sampling: AxisSampling, edges: Sequence[int]) -> list[Block]:
    bounds = np.array(edges)
    # coordinates are monotonic: the contributions to a block are a range
    first, end = sampling.reaching(bounds[:-1]), sampling.beginning(bounds[1:])
    spans = zip(pairwise(edges), first.tolist(), end.tolist(), strict=True)
    # a block without contributions is a product with one row of zeros
    return [Block(range(*xs), range(y0, y1) if y0 < y1 else range(1)) for xs, y0, y1 in spans]


def _band_starts(sampling: AxisSampling, size: int) -> tuple[np.ndarray, int]:
    """Return the start of the band of each block of `size` positions, of which the last may be shorter, and
    the width of the widest band."""
    starts = np.arange(0, sampling.x, size)
    first = sampling.reaching(starts)
    end = sampling.beginning(np.minimum(starts + size, sampling.x))
    width = max(1, int((end - first).max()))
    return np.where(first < end, np.minimum(first, sampling.y - width), 0), width


def _uniform_bands(sampling: AxisSampling, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the band (count, W) and the matrix (count, size, W) of each block of equal size.

    All bands are as wide as the widest; additional positions, and those after the end of the axis, have
    weight 0.
    """
    firsts, width = _band_starts(sampling, size)
    matrices = np.zeros((len(firsts), size, width))
    for rows in parts(range(sampling.y)):
        lower, upper, fraction = sampling.taps(rows)
        positions = np.arange(rows.start, rows.stop)
        for columns, weights in ((lower, 1 - fraction), (upper, fraction)):
            used = np.flatnonzero(weights)
            block, place = np.divmod(columns[used], size)
            matrices[block, place, positions[used] - firsts[block]] = weights[used]
    return firsts[:, None] + np.arange(width), matrices


@lru_cache(MEMO_SIZE)
def _elements(sampling: AxisSampling, count: int) -> int:
    return sum(len(block.rows) * len(block.columns) for block in blocks(sampling, count))


def _band(emit: OpBuilder, value: SSAValue, axis: int, rows: range) -> SSAValue:
    starts, ends, axes = emit.ints([rows.start]), emit.ints([rows.stop]), emit.ints([axis])
    return emit(onnx.SliceOp(value, starts, ends, axes))
