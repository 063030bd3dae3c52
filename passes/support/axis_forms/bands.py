"""The sampling matrix without its zeros.

A position of the result is read from a band of diff_dst: about 2 Y / X positions when the forward op
enlarged, 2 or 3 when it shrank. The result axis is cut into blocks; each is the product of its own band
of diff_dst with its own part of the matrix. With B blocks the multiplications fall to about 1 / B, the
copies (Slice of the bands, Concat of the blocks) stay what they are.
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
from passes.support import budget
from passes.support.axis_forms.base import MATRIX_MIXES, AxisForm, as_dtype_of
from passes.support.budget import Built
from passes.support.rewriting import Emitter
from passes.support.tensors import contract

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


@lru_cache(MOST)
def _elements(sampling: AxisSampling, count: int) -> int:
    return sum(len(block.rows) * len(block.columns) for block in blocks(sampling, count))


def _band(emit: Emitter, value: SSAValue, axis: int, rows: range) -> SSAValue:
    starts, ends, axes = emit.ints([rows.start]), emit.ints([rows.stop]), emit.ints([axis])
    return emit(onnx.SliceOp(value, starts, ends, axes))
