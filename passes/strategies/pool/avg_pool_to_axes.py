"""avg-pool-to-axes: sums along one axis after another, for any windows and sizes.

The contributions of each tap are shifted by Pads and added; nothing is multiplied by 0.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.avg_pool import AvgPoolBackwardOp
from dialects.onnx import ops as onnx
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.builder.values import Builder
from passes.pool.axes import AxisWindows
from passes.pool.means import crop_to_src, shares
from passes.strategies.base import Strategy, no_kernel
from passes.targets.target import Target


class AvgPoolToAxes(Strategy):
    """Pad, Add and Concat along each axis."""

    name: ClassVar[str] = "avg-pool-to-axes"
    ops: ClassVar = (AvgPoolBackwardOp,)
    layouts: ClassVar = ("NCX", "NXC")

    def compile_time_cost(self, op: AvgPoolBackwardOp) -> CompileTimeCost:
        return CompileTimeCost(0, 20 + 10 * (sum(op.kernel) + sum(op.strides)))

    def refuses(self, op: AvgPoolBackwardOp, target: Target) -> str | None:
        return no_kernel(target, op.diff_dst, onnx.MulOp, onnx.AddOp, onnx.PadOp, onnx.ConcatOp)

    def emit(self, op: AvgPoolBackwardOp, target: Target, emit: OpBuilder) -> SSAValue:
        value = shares(op, Builder(emit))
        lines = [AxisWindows(window, axis) for window, axis in zip(op.windows, op.spatial_axes, strict=True)]
        for line in lines:
            value = line.gathered([value] * line.window.kernel)
        return crop_to_src(value, op, tuple(line.beyond for line in lines)).value
