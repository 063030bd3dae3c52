"""weights-nxc-to-columns: weights-to-columns for channels-last data, without transposing the data.

    diff_weights[.., k, :] = diff_dst (N Y, O), transposed, times the reads of kernel row k (N Y, taps C)

The product transposes on the fly; only the weights are transposed afterwards.
"""

from __future__ import annotations

import math
from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.conv_weights import ConvBackwardWeightsOp
from dialects.onnx import ops as onnx
from passes.builder.budget import CompileTimeCost
from passes.builder.rewriting import Builder
from passes.conv.weight_columns import by_channels_last_columns
from passes.conv.weight_gradients import Taps
from passes.strategies.base import Strategy, no_kernel
from passes.targets.target import Target

NEEDED = (onnx.GemmOp, onnx.PadOp, onnx.SliceOp, onnx.ConcatOp, onnx.TransposeOp)


class WeightsNxcToColumns(Strategy):
    """Concatenated Slices of channels-last data; a Gemm for each row of taps."""

    name: ClassVar[str] = "weights-nxc-to-columns"
    ops: ClassVar = (ConvBackwardWeightsOp,)
    layouts: ClassVar = ("NXC",)

    def compile_time_cost(self, op: ConvBackwardWeightsOp) -> CompileTimeCost:
        return CompileTimeCost(0, 30 + 12 * (op.kernel[-1] + math.prod(op.kernel[:-1])))

    def refuses(self, op: ConvBackwardWeightsOp, target: Target) -> str | None:
        if op.layout != "NXC":
            return "only channels-last data has contiguous channels"
        if op.groups > 1:
            return f"groups {op.groups}: the channels of a position are in several products"
        return no_kernel(target, op.src, *NEEDED)

    def spreads_nonfinite(self, op: ConvBackwardWeightsOp, target: Target) -> str | None:
        return "zeros around src are multiplied by diff_dst" if Taps.of(op.axes).has_pads else None

    def emit(self, op: ConvBackwardWeightsOp, target: Target, emit: Builder) -> SSAValue:
        return by_channels_last_columns(op, emit)
