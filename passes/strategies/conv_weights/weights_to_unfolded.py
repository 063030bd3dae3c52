"""weights-to-unfolded: weights-to-windows with the windows extracted by a convolution.

A kernel that is 1 at one tap and 0 at the others copies the reads of that tap; one for each tap gives the
columns for any strides, pads and dilations. All channels are images of one channel.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from xdsl.ir import SSAValue

from dialects.grad.conv_weights import ConvBackwardWeightsOp
from dialects.onnx import ops as onnx
from dialects.support import shapes
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import product, reshape, size_of
from passes.conv.weight_gradients import channels_first, product_of
from passes.resize.axis_forms.base import as_dtype_of
from passes.strategies.base import no_kernel
from passes.strategies.conv_weights.weights_strategy import WeightsStrategy
from passes.targets.target import Target


class WeightsToUnfolded(WeightsStrategy):
    """Conv with weights of ones and zeros, and one MatMul."""

    name: ClassVar[str] = "weights-to-unfolded"

    def compile_time_cost(self, op: ConvBackwardWeightsOp) -> CompileTimeCost:
        return CompileTimeCost(math.prod(op.kernel) ** 2, 20)

    def refuses(self, op: ConvBackwardWeightsOp, target: Target) -> str | None:
        if math.prod(op.kernel) == 1:
            return "one tap: weights-to-taps cuts it out by a Slice"
        return no_kernel(target, op.src, onnx.ConvOp, onnx.MatMulOp, onnx.GemmOp, onnx.ReduceSumOp)

    def spreads_nonfinite(self, op: ConvBackwardWeightsOp, target: Target) -> str | None:
        return "the reads of other taps are multiplied by 0"

    def emit(self, op: ConvBackwardWeightsOp, target: Target, emit: OpBuilder) -> SSAValue:
        src, diff_dst = channels_first(op, emit)
        taps, n = math.prod(op.kernel), op.spatial_rank
        batch, channels, *sizes = (size_of(emit, src, axis) for axis in range(n + 2))
        planes = reshape(emit, src, [product(emit, [batch, channels]), 1, *sizes])
        ones = np.eye(taps).reshape(taps, 1, *op.kernel)
        weights = emit.constant(as_dtype_of(op.src, ones))
        pads = [*op.pads_begin, *op.pads_end]
        found = emit(onnx.ConvOp(planes, weights, strides=op.strides, dilations=op.dilations, pads=pads))
        positions = product(emit, [size_of(emit, diff_dst, axis) for axis in range(2, n + 2)])
        columns = reshape(emit, found, [batch, product(emit, [channels, taps]), positions])
        shape = shapes.static_shape(op.diff_weights)
        assert shape is not None
        return reshape(emit, product_of(emit, diff_dst, columns, op.groups), list(shape))
