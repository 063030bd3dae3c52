"""The sampling matrix without its zeros.

A position of the result is read from a band of diff_dst: about 2 Y / X positions when the forward op
enlarged, 2 or 3 when it shrank. The result axis is cut into blocks; each is the product of its own band
of diff_dst with its own part of the matrix. With B blocks the multiplications fall to about 1 / B, the
copies (Slice of the bands, Concat of the blocks) stay what they are.

Where blocks of one size divide the axis, one Gather takes the bands of all of them and one MatMul makes the
products: nothing is left to join.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import ClassVar

import numpy as np
from xdsl.ir import SSAValue

from dialects.grad.sampling import AxisSampling
from dialects.onnx import ops as onnx
from dialects.support.memo import MOST
from dialects.support.shapes import shape_of
from passes.support import budget
from passes.support.axis_forms.base import MATRIX_MIXES, AxisForm, as_dtype_of
from passes.support.budget import Built
from passes.support.rewriting import Emitter
from passes.support.tensors import contract, multiply_left, product, reshape, size_of

MOST_BLOCKS, LARGEST_BLOCK, MOST_AT_ALL = 64, 256, 1024
"""More blocks than MOST_BLOCKS are made only to keep a block's matrix below LARGEST_BLOCK squared, and
never more than MOST_AT_ALL: each is several nodes."""


@dataclass(frozen=True)
class Block:
    """Positions of the result, the columns of the matrix, and those of diff_dst, its rows."""

    columns: range
    rows: range


@dataclass(frozen=True)
class Bands(AxisForm):
    """`width`: positions of the longer side in a block. Small products do not run at speed."""

    needs: ClassVar = (onnx.MatMulOp, onnx.SliceOp, onnx.ConcatOp)

    width: int = 40

    def refuses(self, sampling: AxisSampling) -> str | None:
        if sampling.x < 2:
            return "one position of the result is one block"
        return None

    def builds(self, sampling: AxisSampling) -> Built:
        count = self.block_count(sampling)
        taps = Built(sampling.y)
        if budget.is_too_much(taps):
            return taps
        return Built(_elements(sampling, count), 5 * count)

    def mixes(self, sampling: AxisSampling) -> str | None:
        return MATRIX_MIXES

    def write(self, emit: Emitter, value: SSAValue, axis: int, sampling: AxisSampling) -> SSAValue:
        taps = sampling.taps()
        results = []
        for block in blocks(sampling, self.block_count(sampling)):
            band = _band(emit, value, axis, block.rows)
            matrix = sampling.taps_matrix(taps, block.rows, block.columns)
            results.append(contract(emit, band, axis, emit.constant(as_dtype_of(value, matrix))))
        return emit(onnx.ConcatOp(results, axis=axis))

    def block_count(self, sampling: AxisSampling) -> int:
        """How many blocks an axis is cut into: at least 2."""
        longest = max(sampling.x, sampling.y)
        fine, coarse = longest // self.width, longest // LARGEST_BLOCK
        wanted = max(min(fine, MOST_BLOCKS), min(coarse, MOST_AT_ALL))
        return min(sampling.x, max(2, wanted))


@dataclass(frozen=True)
class GatheredBands(AxisForm):
    """Blocks of one size, of all that divide X the next to `WANTED`: smaller products do not run at speed,
    larger ones multiply more zeros."""

    needs: ClassVar = (onnx.MatMulOp, onnx.GatherOp)

    WANTED: ClassVar = 10
    SIZES: ClassVar = range(6, 25)

    def refuses(self, sampling: AxisSampling) -> str | None:
        if self._size(sampling) is None:
            return f"no two or more blocks of {self.SIZES[0]} to {self.SIZES[-1]} divide {sampling.x}"
        return None

    def builds(self, sampling: AxisSampling) -> Built:
        size = self._size(sampling)
        if size is None or budget.is_too_much(Built(sampling.y)):
            return Built(sampling.y)
        count = sampling.x // size
        width = max(len(block.rows) for block in blocks(sampling, count))
        return Built(count * width * (size + 1), 6)

    def mixes(self, sampling: AxisSampling) -> str | None:
        return MATRIX_MIXES

    def write(self, emit: Emitter, value: SSAValue, axis: int, sampling: AxisSampling) -> SSAValue:
        size = self._size(sampling)
        assert size is not None
        places, matrices = _bands_alike(sampling, sampling.x // size)
        sizes = [size_of(emit, value, a) for a in range(len(shape_of(value)))]
        outer, behind = sizes[:axis], sizes[axis + 1 :]
        rows = reshape(emit, value, [*outer, sampling.y, product(emit, behind)])
        bands = emit(onnx.GatherOp(rows, emit.constant(places), axis=axis))
        found = multiply_left(emit, emit.constant(as_dtype_of(value, matrices)), bands)
        return reshape(emit, found, [*outer, sampling.x, *behind])

    def _size(self, sampling: AxisSampling) -> int | None:
        sizes = [size for size in self.SIZES if sampling.x % size == 0 and size < sampling.x]
        return min(sizes, key=lambda size: abs(size - self.WANTED), default=None)


def blocks(sampling: AxisSampling, count: int) -> Iterator[Block]:
    """Equal parts of the result's positions, each with the positions of diff_dst that touch it."""
    lower, upper, fraction = sampling.taps()
    last = np.where(fraction > 0, upper, lower)
    edges = [sampling.x * i // count for i in range(count + 1)]
    # coordinates never fall: what touches a block lies between two positions
    first, end = np.searchsorted(last, edges[:-1]), np.searchsorted(lower, edges[1:])
    for (x0, x1), y0, y1 in zip(pairwise(edges), first.tolist(), end.tolist(), strict=True):
        # a block that nothing touches is a product with one row of zeros
        yield Block(range(x0, x1), range(y0, y1) if y0 < y1 else range(1))


def _bands_alike(sampling: AxisSampling, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Of blocks of one size each one's band, (count, W) positions, and matrix, (count, X / count, W).

    Bands are as wide as the widest: what a narrower one holds beside its own has a weight of 0.
    """
    taps, found = sampling.taps(), list(blocks(sampling, count))
    width = max(len(block.rows) for block in found)
    places, matrices = [], []
    for block in found:
        first = min(block.rows.start, sampling.y - width)
        rows = range(first, first + width)
        places.append(rows)
        matrices.append(sampling.taps_matrix(taps, rows, block.columns).T)
    return np.array(places, np.int64), np.array(matrices)


@lru_cache(MOST)
def _elements(sampling: AxisSampling, count: int) -> int:
    return sum(len(block.rows) * len(block.columns) for block in blocks(sampling, count))


def _band(emit: Emitter, value: SSAValue, axis: int, rows: range) -> SSAValue:
    starts, ends, axes = emit.ints([rows.start]), emit.ints([rows.stop]), emit.ints([axis])
    return emit(onnx.SliceOp(value, starts, ends, axes))
