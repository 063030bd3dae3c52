"""Reads of each position of diff_src, gathered at once, weighted and summed; strict about IEEE numbers.

A position reads `taps` rows of diff_dst by a table (X, taps). One with fewer reads than others reads a row of
zeros after the last, with weight 0, so that unrelated data is not multiplied by 0.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.ir import SSAValue

from dialects.grad.sampling import AxisSampling
from dialects.onnx import ops as onnx
from dialects.support.shapes import shape_of
from passes.builder import budget
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.resize.axis_forms.base import AxisForm, as_dtype_of
from passes.resize.axis_forms.gathers import most_taps, tables


class Tables(AxisForm):
    """Fits every sampling; the gathered rows are X times the most reads of a position."""

    needs: ClassVar = (onnx.PadOp, onnx.GatherOp, onnx.MulOp, onnx.ReduceSumOp)

    def compile_time_cost(self, sampling: AxisSampling) -> CompileTimeCost:
        """Count the tables, and the rows that they gather."""
        known = budget.sampling_cost(sampling)
        if budget.exceeds_limits(known):
            return known
        taps = most_taps(sampling)
        return known + CompileTimeCost(2 * taps * sampling.x, 7, taps)

    def write(self, emit: OpBuilder, value: SSAValue, axis: int, sampling: AxisSampling) -> SSAValue:
        positions, weights = (table.transpose() for table in tables(sampling))
        positions = np.where(weights == 0, sampling.y, positions)
        given = emit.constant(np.ascontiguousarray(positions))
        factors = emit.constant(np.ascontiguousarray(as_dtype_of(value, weights)))
        return weighted_sums(emit, value, axis, given, factors)


def weighted_sums(
    emit: OpBuilder, value: SSAValue, axis: int, positions: SSAValue, weights: SSAValue
) -> SSAValue:
    """Contract an axis of Y positions by tables (X, taps) to X positions. Position Y is a row of zeros."""
    rank = len(shape_of(value))
    pads = [0] * (2 * rank)
    pads[rank + axis] = 1
    padded = emit(onnx.PadOp(value, emit.ints(pads)))
    rows = emit(onnx.GatherOp(padded, positions, axis=axis))
    behind = range(2, 2 + rank - 1 - axis)
    factors = emit(onnx.UnsqueezeOp(weights, emit.ints(behind))) if behind else weights
    return emit(onnx.ReduceSumOp(emit(onnx.MulOp(rows, factors)), emit.ints([axis + 1]), keepdims=0))
