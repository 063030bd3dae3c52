"""weights-to-taps: the gradient of a convolution's weights as a product for each tap of the kernel.

    diff_weights[.., k] = diff_dst (O, N Y) times the reads of tap k from src (N Y, C)

The reads of a tap are a Slice of padded src. A kernel of one tap is one product.
"""

from __future__ import annotations

import math
from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.conv_weights import ConvBackwardWeightsOp
from dialects.onnx import ops as onnx
from dialects.support.shapes import shape_of
from passes.builder.budget import CompileTimeCost
from passes.builder.rewriting import Builder
from passes.conv.weight_gradients import Taps, by_taps, channels_first
from passes.strategies.base import Strategy, no_kernel
from passes.targets.target import Target

NEEDED = (onnx.MatMulOp, onnx.GemmOp, onnx.PadOp, onnx.SliceOp, onnx.ReduceSumOp, onnx.ConcatOp)


class WeightsToTaps(Strategy):
    """Slice and MatMul for each tap, stacked."""

    name: ClassVar[str] = "weights-to-taps"
    ops: ClassVar = (ConvBackwardWeightsOp,)
    layouts: ClassVar = ("NCX", "NXC")

    def compile_time_cost(self, op: ConvBackwardWeightsOp) -> CompileTimeCost:
        return CompileTimeCost(0, 20 + 12 * math.prod(op.kernel))

    def refuses(self, op: ConvBackwardWeightsOp, target: Target) -> str | None:
        if shape_of(op.diff_weights)[:2] == (op.groups, 1) and op.groups > 1:
            return "each product would be of one row by one column: weights-to-tap-sums has the same sums"
        return no_kernel(target, op.src, *NEEDED)

    def spreads_nonfinite(self, op: ConvBackwardWeightsOp, target: Target) -> str | None:
        return "zeros around src are multiplied by diff_dst" if Taps.of(op.axes).has_pads else None

    def emit(self, op: ConvBackwardWeightsOp, target: Target, emit: Builder) -> SSAValue:
        return by_taps(emit, *channels_first(op, emit), Taps.of(op.axes), op.groups)
