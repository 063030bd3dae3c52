"""window-to-slice: `grad.take_window` as a Pad to the window's end and a Slice with dynamic bounds.

A window that starts with the data needs one Pad only, by an amount that may be negative; onnxruntime supports
that, but not all runtimes do.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.conv import TakeWindowOp
from dialects.onnx import ops as onnx
from dialects.onnx.values import constant_of
from dialects.support.shapes import shape_of
from passes.builder.op_builder import OpBuilder
from passes.strategies.base import Strategy, no_kernel
from passes.targets.target import Target


class WindowToSlice(Strategy):
    """Zeros up to the window's end, then the window."""

    name: ClassVar[str] = "window-to-slice"
    ops: ClassVar = (TakeWindowOp,)

    def refuses(self, op: TakeWindowOp, target: Target) -> str | None:
        return no_kernel(target, op.data, onnx.PadOp, onnx.SliceOp)

    def emit(self, op: TakeWindowOp, target: Target, emit: OpBuilder) -> SSAValue:
        axes, rank = op.axes, len(shape_of(op.data))
        if target.spec.crops_by_pad and _starts_with_data(op):
            beyond = emit.sub(op.size, emit.sizes(op.data, axes))
            pads = emit.concat([emit.ints([0] * rank), emit.spread(beyond, axes, rank)])
            return emit(onnx.PadOp(op.data, pads))
        end = emit.add(op.begin, op.size)
        missing = emit.max(emit.sub(end, emit.sizes(op.data, axes)), 0)
        pads = emit.concat([emit.ints([0] * rank), emit.spread(missing, axes, rank)])
        padded = emit(onnx.PadOp(op.data, pads))
        return emit(onnx.SliceOp(padded, op.begin, end, emit.ints(axes)))


def _starts_with_data(op: TakeWindowOp) -> bool:
    begin = constant_of(op.begin)
    return begin is not None and not begin.any()
