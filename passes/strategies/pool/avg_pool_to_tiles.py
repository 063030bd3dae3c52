"""avg-pool-to-tiles: for windows that tile the data, a Resize repeats each window's share."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.avg_pool import AvgPoolBackwardOp
from dialects.onnx import ops as onnx
from dialects.support import shapes
from dialects.support.shapes import shape_of
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import repeat
from passes.builder.values import Builder
from passes.pool.means import crop_to_src, shares
from passes.strategies.base import Strategy, no_kernel
from passes.targets.target import Target


class AvgPoolToTiles(Strategy):
    """Mul and Resize."""

    name: ClassVar[str] = "avg-pool-to-tiles"
    ops: ClassVar = (AvgPoolBackwardOp,)
    layouts: ClassVar = ("NCX", "NXC")

    def compile_time_cost(self, op: AvgPoolBackwardOp) -> CompileTimeCost:
        return CompileTimeCost(0, 10)

    def refuses(self, op: AvgPoolBackwardOp, target: Target) -> str | None:
        sizes = shapes.static_shape(op.diff_dst)
        if sizes is None or 0 in sizes:
            return "a Resize needs static sizes and a batch that is not empty"
        rows = zip(op.windows, op.spatial(op.diff_dst), strict=True)
        if any(w.extent != w.kernel or (y != 1 and w.stride != w.kernel) for w, y in rows):
            return "the windows overlap or leave gaps"
        return no_kernel(target, op.diff_dst, onnx.ResizeOp, onnx.MulOp, onnx.PadOp)

    def emit(self, op: AvgPoolBackwardOp, target: Target, emit: OpBuilder) -> SSAValue:
        e, times = Builder(emit), [1] * len(shape_of(op.diff_dst))
        for axis, kernel in zip(op.spatial_axes, op.kernel, strict=True):
            times[axis] = kernel
        value = shares(op, e)
        repeated = e(repeat(emit, value.value, times)) if max(times) > 1 else value
        return crop_to_src(repeated, op, (0,) * op.spatial_rank).value
