"""weights-to-exact-taps: `weights-to-taps` without products with padding.

Each tap multiplies diff_dst where it reads data, and 0 elsewhere: the zeros of the padding then meet no inf.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.conv_weights import ConvBackwardWeightsOp
from dialects.onnx import ops as onnx
from passes.builder.budget import CompileTimeCost
from passes.builder.rewriting import Builder
from passes.conv.weight_gradients import Taps, by_taps, channels_first
from passes.strategies.base import Strategy, no_kernel
from passes.strategies.conv_weights.weights_to_taps import NEEDED, WeightsToTaps
from passes.targets.target import Target


class WeightsToExactTaps(Strategy):
    """Slice, Where and MatMul for each tap, stacked."""

    name: ClassVar[str] = "weights-to-exact-taps"
    ops: ClassVar = (ConvBackwardWeightsOp,)
    layouts: ClassVar = ("NCX", "NXC")
    strict_only: ClassVar = True

    def compile_time_cost(self, op: ConvBackwardWeightsOp) -> CompileTimeCost:
        return WeightsToTaps().compile_time_cost(op) + CompileTimeCost(0, 12 * sum(op.kernel))

    def refuses(self, op: ConvBackwardWeightsOp, target: Target) -> str | None:
        if not Taps.of(op.axes).has_pads:
            return "without pads weights-to-taps is as exact"
        return no_kernel(target, op.src, *NEEDED, onnx.WhereOp)

    def emit(self, op: ConvBackwardWeightsOp, target: Target, emit: Builder) -> SSAValue:
        return by_taps(emit, *channels_first(op, emit), Taps.of(op.axes), op.groups, exact=True)
