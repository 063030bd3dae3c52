"""weights-to-columns: one product for the taps of a row of the kernel.

    diff_weights[.., k, :] = diff_dst (O, N Y) times the reads of kernel row k from src (N Y, C taps)

Columns of all rows are sliced once; the reads of a row are a Slice of them along another axis, which copies
long runs.
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


class WeightsToColumns(Strategy):
    """Concatenated Slices along the last axis; a MatMul for each row of taps."""

    name: ClassVar[str] = "weights-to-columns"
    ops: ClassVar = (ConvBackwardWeightsOp,)
    layouts: ClassVar = ("NCX", "NXC")

    def compile_time_cost(self, op: ConvBackwardWeightsOp) -> CompileTimeCost:
        return CompileTimeCost(0, 30 + 12 * (op.kernel[-1] + math.prod(op.kernel[:-1])))

    def refuses(self, op: ConvBackwardWeightsOp, target: Target) -> str | None:
        if op.kernel[-1] == 1 or len(op.kernel) == 1:
            return "the kernel has one row, or one tap per row"
        return no_kernel(target, op.src, *NEEDED)

    def spreads_nonfinite(self, op: ConvBackwardWeightsOp, target: Target) -> str | None:
        return "zeros around src are multiplied by diff_dst" if Taps.of(op.axes).has_pads else None

    def emit(self, op: ConvBackwardWeightsOp, target: Target, emit: Builder) -> SSAValue:
        return by_columns(op, emit, 1)
