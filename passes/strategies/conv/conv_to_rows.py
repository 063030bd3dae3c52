"""conv-to-rows: the convolution of conv-to-conv on three axes, lowered to two by merging depth and height.

See `conv.rows`. One Conv per tap of the height, on onnxruntime's blocked kernels, which add their results
themselves. No data is copied per tap, as in conv-to-conv2d; instead rows of zeros between the slices are
computed. Groups are supported.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.conv import ConvBackwardDataOp, ConvTransposeBackwardDataOp
from dialects.grad.geometry import axis_letters
from dialects.onnx import ops as onnx
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.conv.blocks import reads_blocks
from passes.conv.convolution import CONV_SPREADS_NONFINITE, GradConv, as_convolution, no_convolution
from passes.conv.rows import convolve_rows, no_rows, rows_cost
from passes.strategies.base import Strategy, no_kernel
from passes.targets.target import Target


class ConvToRows(Strategy):
    """Conv on an image of the rows of all slices, one Conv per tap of the height."""

    name: ClassVar[str] = "conv-to-rows"
    ops: ClassVar = (ConvBackwardDataOp, ConvTransposeBackwardDataOp)
    layouts: ClassVar = ("NCX", "NXC")

    def compile_time_cost(self, op: GradConv) -> CompileTimeCost:
        return CompileTimeCost(sum(op.weights_shape[2:]), 8) + (
            rows_cost(op) if op.spatial_rank == 3 else CompileTimeCost()
        )

    def refuses(self, op: GradConv, target: Target) -> str | None:
        if op.spatial_rank != 3:
            return f"for three spatial axes: the op has {op.spatial_rank}"
        if reason := no_convolution(op):
            return reason
        for letter, axis in zip(axis_letters(3), op.axes, strict=True):
            if axis.window.stride != 1:
                return f"stride {axis.window.stride} on axis {letter}: only stride 1"
        needed = (onnx.ConvOp, onnx.PadOp, onnx.SliceOp, onnx.GatherOp, onnx.AddOp)
        return no_rows(op) or no_kernel(target, op.diff_dst, *needed)

    def spreads_nonfinite(self, op: GradConv, target: Target) -> str | None:
        return CONV_SPREADS_NONFINITE

    def emit(self, op: GradConv, target: Target, emit: OpBuilder) -> SSAValue:
        axis = 2 if op.layout == "NCX" else 1
        return convolve_rows(emit, op.diff_dst, *as_convolution(emit, op), axis, reads_blocks(op, target))
