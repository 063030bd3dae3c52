"""max-pool-to-axes: argmax along one axis after another, and the gradient back through them.

The first element of a window's row that equals its maximum gets the row's gradient, by products with
comparisons instead of a scatter. The gradients of overlapping windows are shifted by Pads and added.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.max_pool import MaxPoolBackwardOp
from dialects.onnx import ops as onnx
from dialects.support import layouts
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.builder.values import Builder
from passes.pool.axes import AxisWindows, backward, without_nan
from passes.strategies.base import Strategy, no_kernel
from passes.targets.target import Target

NEEDED = (onnx.MaxOp, onnx.EqualOp, onnx.MulOp, onnx.PadOp, onnx.SliceOp, onnx.SplitOp, onnx.ConcatOp)


class MaxPoolToAxes(Strategy):
    """Slice, Max, Equal, Mul and Pad along each axis."""

    name: ClassVar[str] = "max-pool-to-axes"
    ops: ClassVar = (MaxPoolBackwardOp,)
    layouts: ClassVar = ("NCX", "NXC")

    def compile_time_cost(self, op: MaxPoolBackwardOp) -> CompileTimeCost:
        return CompileTimeCost(0, 60 + 30 * (sum(op.kernel) + sum(op.strides)))

    def refuses(self, op: MaxPoolBackwardOp, target: Target) -> str | None:
        needed = (*NEEDED, onnx.WhereOp) if target.strict_ieee else NEEDED
        return no_kernel(target, op.src, *needed)

    def emit(self, op: MaxPoolBackwardOp, target: Target, emit: OpBuilder) -> SSAValue:
        e = Builder(emit, target.strict_ieee)
        axes = layouts.spatial_axes(op.layout, op.spatial_rank)
        lines = [AxisWindows(window, axis) for window, axis in zip(op.windows, axes, strict=True)]
        data = without_nan(e, e(op.src)) if e.strict_ieee else e(op.src)
        return backward(e, data, e(op.diff_dst), lines, op.pads_begin).value
