"""avg-pool-to-pool: with stride 1 each position gets the mean of the windows that contain it.

These form a window as well, so the gradient is an AveragePool with pads Ke - 1 - pb.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.avg_pool import AvgPoolBackwardOp
from dialects.onnx import ops as onnx
from passes.builder.op_builder import OpBuilder
from passes.strategies.base import Strategy, no_kernel
from passes.targets.target import Target


class AvgPoolToPool(Strategy):
    """AveragePool."""

    name: ClassVar[str] = "avg-pool-to-pool"
    ops: ClassVar = (AvgPoolBackwardOp,)
    is_blocked: ClassVar[bool] = True

    def refuses(self, op: AvgPoolBackwardOp, target: Target) -> str | None:
        if any(stride > 1 for stride in op.strides):
            return "the stride is not 1"
        if any(dilation > 1 for dilation in op.dilations) and target.opset < 19:
            return f"opset {target.opset}: AveragePool has dilations from opset 19 on"
        begin, end = _pads(op)
        if any(not 0 <= pad < k for pads in (begin, end) for pad, k in zip(pads, op.kernel, strict=True)):
            return "pads of an AveragePool must be at least 0 and less than its kernel"
        if target.spec.symmetric_pads and begin != end:
            return f"begin and end pads differ: {target.spec.symmetric_pads}"
        return no_kernel(target, op.diff_dst, onnx.AveragePoolOp)

    def emit(self, op: AvgPoolBackwardOp, target: Target, emit: OpBuilder) -> SSAValue:
        begin, end = _pads(op)
        steps = op.dilations if any(dilation > 1 for dilation in op.dilations) else None
        return emit(
            onnx.AveragePoolOp(
                op.diff_dst,
                kernel_shape=op.kernel,
                dilations=steps,
                pads=[*begin, *end],
                count_include_pad=1,
            )
        )


def _pads(op: AvgPoolBackwardOp) -> tuple[list[int], list[int]]:
    reach = [window.extent - 1 for window in op.windows]
    begin, end = ([r - p for r, p in zip(reach, pads, strict=True)] for pads in (op.pads_begin, op.pads_end))
    return begin, end
