"""weights-nxc-to-columns: weights-to-columns for channels-last data, which no Transpose turns.

    diff_weights[.., k, :] = diff_dst (N Y, O), transposed, times what row k of the kernel reads (N Y, taps C)

The product transposes while it multiplies; the weights alone are turned behind it.
"""

from __future__ import annotations

import math
from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.conv_weights import ConvBackwardWeightsOp
from dialects.onnx import ops as onnx
from passes.conv.weight_columns import by_channels_last_columns
from passes.conv.weight_gradients import Taps
from passes.emit.budget import CompileTimeCost
from passes.emit.rewriting import Emitter
from passes.kernels.target import Target
from passes.strategies.base import Strategy, no_kernel

NEEDED = (onnx.GemmOp, onnx.PadOp, onnx.SliceOp, onnx.ConcatOp, onnx.TransposeOp)


class WeightsNxcToColumns(Strategy):
    """Slices of channels-last data side by side; a Gemm for each row of taps."""

    name: ClassVar[str] = "weights-nxc-to-columns"
    ops: ClassVar = (ConvBackwardWeightsOp,)
    layouts: ClassVar = ("NXC",)

    def compile_time_cost(self, op: ConvBackwardWeightsOp) -> CompileTimeCost:
        return CompileTimeCost(0, 30 + 12 * (op.kernel[-1] + math.prod(op.kernel[:-1])))

    def refuses(self, op: ConvBackwardWeightsOp, target: Target) -> str | None:
        if op.layout != "NXC":
            return "only channels-last data has all channels of a position side by side"
        if op.groups > 1:
            return f"groups {op.groups}: the channels of a position are in several products"
        return no_kernel(target, op.src, *NEEDED)

    def spreads_nonfinite(self, op: ConvBackwardWeightsOp, target: Target) -> str | None:
        return "zeros around src are multiplied by diff_dst" if Taps.of(op.axes).has_pads else None

    def emit(self, op: ConvBackwardWeightsOp, target: Target, emit: Emitter) -> SSAValue:
        return by_channels_last_columns(op, emit)
