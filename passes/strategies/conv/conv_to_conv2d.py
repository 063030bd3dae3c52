"""conv-to-conv2d: the convolution of conv-to-conv on one or three axes, lowered to one on two.

onnxruntime has blocked (NCHWc) convolution kernels for two spatial axes; on one and on three it unrolls the
windows and multiplies. So one axis becomes an image of one row, and the first of three is unrolled into
channels, which costs a copy per tap of that axis.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.conv import ConvBackwardDataOp, ConvTransposeBackwardDataOp
from dialects.onnx import ops as onnx
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.conv.convolution import (
    CONV_SPREADS_NONFINITE,
    GradConv,
    as_convolution,
    convolve_planes,
    convolve_planes_last,
    no_convolution,
)
from passes.conv.work import whole_convolution
from passes.cost.work import Work
from passes.strategies.base import Strategy, no_kernel
from passes.targets.target import Target


class ConvToConv2D(Strategy):
    """Conv on images: of one row for one axis, of unrolled slices for three."""

    name: ClassVar[str] = "conv-to-conv2d"
    ops: ClassVar = (ConvBackwardDataOp, ConvTransposeBackwardDataOp)
    layouts: ClassVar = ("NCX", "NXC")

    def compile_time_cost(self, op: GradConv) -> CompileTimeCost:
        """Count a slice per tap of the first of three axes."""
        taps = op.weights_shape[2] if op.spatial_rank == 3 else 1
        return CompileTimeCost(sum(op.weights_shape[2:]), 20 + taps, taps)

    def refuses(self, op: GradConv, target: Target) -> str | None:
        if op.spatial_rank == 2:
            return "for one or three spatial axes: on two, conv-to-conv is the same"
        if reason := no_convolution(op):
            return reason
        needed = (onnx.ConcatOp, onnx.PadOp, onnx.SliceOp) if op.spatial_rank == 3 else ()
        if reason := no_kernel(target, op.diff_dst, onnx.ConvOp, *needed):
            return reason
        if op.spatial_rank == 1:
            return None
        if op.groups > 1:
            return f"groups {op.value('groups')}: the unrolled channels would be in the wrong group"
        if not isinstance(op.spatial(op.diff_dst)[0], int):
            return "the size of the unrolled axis must be static"
        return None

    def spreads_nonfinite(self, op: GradConv, target: Target) -> str | None:
        return CONV_SPREADS_NONFINITE

    def works(self, op: GradConv, target: Target, work: Work) -> None:
        if op.spatial_rank == 1:
            whole_convolution(op, work, as_row=True)

    def emit(self, op: GradConv, target: Target, emit: OpBuilder) -> SSAValue:
        write = convolve_planes if op.layout == "NCX" else convolve_planes_last
        return write(emit, op.diff_dst, *as_convolution(emit, op))
