"""weights-to-tap-sums: the gradient of a depthwise convolution's weights by a sum for each tap.

    diff_weights[o, 0, k] = sum over n, y of diff_dst[n, o, y] times the reads of tap k from channel c

Matrix products would have a single row here.
"""

from __future__ import annotations

import math
from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.conv_weights import ConvBackwardWeightsOp
from dialects.onnx import ops as onnx
from dialects.support import shapes
from dialects.support.shapes import shape_of
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import reshape, size_of
from passes.conv.weight_columns import concat_values
from passes.conv.weight_gradients import Taps, channels_first, tap_reads
from passes.strategies.base import no_kernel
from passes.strategies.conv_weights.weights_strategy import WeightsStrategy
from passes.targets.target import Target

NEEDED = (onnx.MulOp, onnx.ReduceSumOp, onnx.PadOp, onnx.SliceOp, onnx.ConcatOp)


class WeightsToTapSums(WeightsStrategy):
    """Slice, Mul and ReduceSum for each tap, stacked."""

    name: ClassVar[str] = "weights-to-tap-sums"

    def compile_time_cost(self, op: ConvBackwardWeightsOp) -> CompileTimeCost:
        return CompileTimeCost(0, 20 + 12 * math.prod(op.kernel))

    def refuses(self, op: ConvBackwardWeightsOp, target: Target) -> str | None:
        if shape_of(op.diff_weights)[1] != 1:
            return f"groups {op.groups}: a group has more than one channel of src"
        return no_kernel(target, op.src, *NEEDED)

    def emit(self, op: ConvBackwardWeightsOp, target: Target, emit: OpBuilder) -> SSAValue:
        src, diff_dst = channels_first(op, emit)
        shape = shapes.static_shape(op.diff_weights)
        assert shape is not None
        reads = tap_reads(emit, src, diff_dst, Taps.of(op.axes))
        if (several := shape[0] // op.groups) > 1:
            sizes = [size_of(emit, diff_dst, axis) for axis in range(op.spatial_rank + 2)]
            diff_dst = reshape(emit, diff_dst, [sizes[0], op.groups, several, *sizes[2:]])
            reads = [emit(onnx.UnsqueezeOp(value, emit.ints([2]))) for value in reads]
        rank = len(shape_of(diff_dst))
        axes = [emit.ints(range(rank - op.spatial_rank, rank)), emit.ints([0])]
        sums: list[SSAValue] = []
        for value in reads:
            total = emit(onnx.MulOp(diff_dst, value))
            for reduced in axes:
                total = emit(onnx.ReduceSumOp(total, reduced, keepdims=0))
            sums.append(reshape(emit, total, [shape[0], 1]))
        return reshape(emit, concat_values(emit, sums, 1), list(shape))
