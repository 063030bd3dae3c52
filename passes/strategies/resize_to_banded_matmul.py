"""resize-to-banded-matmul: the sampling matrix without its zeros.

A position of the result is read from a band of diff_dst: about 2 Y / X positions when the forward op
enlarged, 2 or 3 when it shrank. The result axis is cut into blocks; each is the product of its own band
of diff_dst with its own part of the matrix. With B blocks the multiplications fall to about 1 / B, the
copies (Slice of the bands, Concat of the blocks) stay what they are.

Short axes are multiplied whole where a long one is cut. As outer x Y x inner, so the same for NCX and
NXC; the axis that shrinks most goes first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

import numpy as np
from xdsl.ir import SSAValue

from dialects.grad.resize import ResizeBackwardOp
from dialects.grad.sampling import AxisSampling
from dialects.onnx import ops as onnx
from dialects.support.dtypes import of_mlir
from dialects.support.shapes import element_type_of
from passes.strategies.base import Strategy, no_kernel
from passes.support.rewriting import Emitter
from passes.support.tensors import contract
from passes.target import Target

LONG = 128
"""An axis of this many positions on both sides gains by being cut; on a shorter one the copies cost more
than the multiplications that they save (f32 on one CPU, 20 to 1024 positions)."""

BLOCK, MOST_BLOCKS, LARGEST_BLOCK = 40, 32, 256
"""Positions of the longer side in a block: smaller products do not run at speed. More blocks than
MOST_BLOCKS are made only to keep a block's matrix below LARGEST_BLOCK squared."""


@dataclass(frozen=True)
class Block:
    """Positions of the result, the columns of the matrix, and those of diff_dst, its rows."""

    columns: range
    rows: range


class ResizeToBandedMatMul(Strategy):
    """A MatMul per block of an axis with that block's part of the matrix."""

    name: ClassVar[str] = "resize-to-banded-matmul"
    ops: ClassVar = (ResizeBackwardOp,)

    def refuses(self, op: ResizeBackwardOp, target: Target) -> str | None:
        if reason := no_kernel(target, op.diff_dst, onnx.MatMulOp, onnx.SliceOp, onnx.ConcatOp):
            return reason
        if all(s.x < 2 for s in op.samplings):
            return "no axis of the result has two positions to make blocks of"
        return None

    def emit(self, op: ResizeBackwardOp, target: Target, emit: Emitter) -> SSAValue:
        dtype = of_mlir(element_type_of(op.diff_dst))
        assert dtype is not None
        steps = sorted(
            zip(op.value("axes"), op.samplings, strict=True), key=lambda s: Fraction(s[1].x, s[1].y)
        )
        value: SSAValue = op.diff_dst
        cut_all = not has_long_axis(op)
        for axis, sampling in steps:
            count = block_count(sampling) if cut_all or is_long(sampling) else 1
            value = _contract_blocks(emit, value, axis, sampling, count, dtype.numpy)
        return value


def is_long(sampling: AxisSampling) -> bool:
    return min(sampling.x, sampling.y) >= LONG


def has_long_axis(op: ResizeBackwardOp) -> bool:
    """Whether cutting pays for this op."""
    return any(map(is_long, op.samplings))


def block_count(sampling: AxisSampling) -> int:
    """How many blocks an axis is cut into: at least 2 where that can be."""
    longest = max(sampling.x, sampling.y)
    wanted = max(min(longest // BLOCK, MOST_BLOCKS), longest // LARGEST_BLOCK)
    return min(sampling.x, max(2, wanted))


def blocks(sampling: AxisSampling, count: int) -> Iterator[Block]:
    """Equal parts of the result's positions, each with the positions of diff_dst that touch it."""
    lower, upper, fraction = sampling.taps()
    last = np.where(fraction > 0, upper, lower)
    edges = [sampling.x * i // count for i in range(count + 1)]
    for x0, x1 in pairwise(edges):
        touching = np.flatnonzero((lower < x1) & (last >= x0))
        # a block that nothing touches is a product with one row of zeros
        y0, y1 = (int(touching[0]), int(touching[-1]) + 1) if touching.size else (0, 1)
        yield Block(range(x0, x1), range(y0, y1))


def _contract_blocks(
    emit: Emitter, value: SSAValue, axis: int, sampling: AxisSampling, count: int, dtype: np.dtype
) -> SSAValue:
    taps = sampling.taps()
    results = []
    for block in blocks(sampling, count):
        band = _band(emit, value, axis, block.rows) if count > 1 else value
        matrix = sampling.taps_matrix(taps, block.rows, block.columns).astype(dtype)
        results.append(contract(emit, band, axis, emit.constant(matrix)))
    return emit(onnx.ConcatOp(results, axis=axis)) if count > 1 else results[0]


def _band(emit: Emitter, value: SSAValue, axis: int, rows: range) -> SSAValue:
    starts, ends, axes = emit.ints([rows.start]), emit.ints([rows.stop]), emit.ints([axis])
    return emit(onnx.SliceOp(value, starts, ends, axes))
