"""avg-pool-to-axes: sums along one axis after another, for any windows and sizes.

The contributions of each tap are shifted by Pads and added; nothing is multiplied by 0.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.avg_pool import AvgPoolBackwardOp
from dialects.onnx import ops as onnx
from passes.builder.budget import CompileTimeCost
from passes.builder.rewriting import Emitter
from passes.builder.values import Operators
from passes.pool.axes import Line
from passes.pool.means import in_place, shares
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

    def emit(self, op: AvgPoolBackwardOp, target: Target, emit: Emitter) -> SSAValue:
        value = shares(op, Operators(emit))
        lines = [Line(window, axis) for window, axis in zip(op.windows, op.spatial_axes, strict=True)]
        for line in lines:
            value = line.gathered([value] * line.window.kernel)
        return in_place(value, op, tuple(line.beyond for line in lines)).value
