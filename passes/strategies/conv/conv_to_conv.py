"""conv-to-conv: both convolution gradients as a forward convolution.

1. ConvTransposeBackwardData *is* a forward convolution: Conv with the weights unchanged.
2. ConvBackwardData of stride 1: with x = y - pb + k d, the gradient is the correlation of diff_dst with the
   reversed kernel, k' = K - 1 - k:

       diff_src[x] = sum over k' of diff_dst[x + pb - (Ke - 1) + k' d] flipped[k'],

a Conv with pads Ke - 1 - pb and Ke - 1 - pe, and with input and output channels of the weights swapped within
each group.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.conv import ConvBackwardDataOp, ConvTransposeBackwardDataOp
from dialects.onnx import ops as onnx
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.conv.convolution import CONV_SPREADS_NONFINITE, GradConv, as_convolution, convolve, no_convolution
from passes.conv.work import whole_convolution
from passes.cost.work import Work
from passes.strategies.base import Strategy, no_kernel
from passes.targets.target import Target


class ConvToConv(Strategy):
    """Conv, with flipped weights for the gradient of a convolution of stride 1."""

    name: ClassVar[str] = "conv-to-conv"
    ops: ClassVar = (ConvBackwardDataOp, ConvTransposeBackwardDataOp)
    is_blocked: ClassVar[bool] = True

    def compile_time_cost(self, op: GradConv) -> CompileTimeCost:
        return CompileTimeCost(sum(op.weights_shape[2:]), 8)

    def refuses(self, op: GradConv, target: Target) -> str | None:
        return no_kernel(target, op.diff_dst, onnx.ConvOp) or no_convolution(op)

    def spreads_nonfinite(self, op: GradConv, target: Target) -> str | None:
        return CONV_SPREADS_NONFINITE

    def works(self, op: GradConv, target: Target, work: Work) -> None:
        whole_convolution(op, work)

    def emit(self, op: GradConv, target: Target, emit: OpBuilder) -> SSAValue:
        return convolve(emit, op.diff_dst, *as_convolution(emit, op))
