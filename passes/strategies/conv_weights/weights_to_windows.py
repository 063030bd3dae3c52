"""weights-to-windows: the gradient of a convolution's weights as one product.

    diff_weights = diff_dst (O, N Y) times the reads of all taps from src (N Y, C taps)

The reads of a channel's taps are adjacent, in the order of the weights, so no Transpose follows.
"""

from __future__ import annotations

import math
from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.conv_weights import ConvBackwardWeightsOp
from passes.builder.budget import CompileTimeCost
from passes.builder.rewriting import Builder
from passes.conv.weight_columns import by_columns
from passes.conv.weight_gradients import Taps
from passes.strategies.base import Strategy, no_kernel
from passes.strategies.conv_weights.weights_to_taps import NEEDED
from passes.targets.target import Target


class WeightsToWindows(Strategy):
    """Concatenated Slices of all taps, and one MatMul."""

    name: ClassVar[str] = "weights-to-windows"
    ops: ClassVar = (ConvBackwardWeightsOp,)
    layouts: ClassVar = ("NCX", "NXC")

    def compile_time_cost(self, op: ConvBackwardWeightsOp) -> CompileTimeCost:
        return CompileTimeCost(0, 40 + 6 * sum(op.kernel))

    def refuses(self, op: ConvBackwardWeightsOp, target: Target) -> str | None:
        if math.prod(op.kernel) == 1:
            return "one tap: weights-to-taps is the same product"
        return no_kernel(target, op.src, *NEEDED)

    def spreads_nonfinite(self, op: ConvBackwardWeightsOp, target: Target) -> str | None:
        return "zeros around src are multiplied by diff_dst" if Taps.of(op.axes).has_pads else None

    def emit(self, op: ConvBackwardWeightsOp, target: Target, emit: Builder) -> SSAValue:
        return by_columns(op, emit, op.spatial_rank)
