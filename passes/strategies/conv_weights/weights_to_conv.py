"""weights-to-conv: a convolution whose weights are diff_dst.

    diff_weights[o, j, k] = sum over n, y of diff_dst[n, o, y] src[n, c, y s - pb + k d]

is a Conv with batch and channels exchanged, and with them strides and dilations: the channels of src are its
batch, the images its channels, and windows of Y taps, s apart, have stride d. Positions beyond K, from the
part of src that the stride left over, are cropped.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.conv_weights import ConvBackwardWeightsOp
from dialects.onnx import ops as onnx
from dialects.support import shapes
from dialects.support.shapes import shape_of
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import crop, reshape, size_of
from passes.conv.weight_gradients import channels_first
from passes.strategies.base import no_kernel
from passes.strategies.conv_weights.weights_strategy import WeightsStrategy
from passes.targets.target import Target


class WeightsToConv(WeightsStrategy):
    """Conv of src by diff_dst."""

    name: ClassVar[str] = "weights-to-conv"

    def compile_time_cost(self, op: ConvBackwardWeightsOp) -> CompileTimeCost:
        return CompileTimeCost(0, 20)

    def refuses(self, op: ConvBackwardWeightsOp, target: Target) -> str | None:
        batch = shape_of(op.src)[0]
        if not isinstance(batch, int) or batch == 0:
            return "the batch becomes channels, so it must be static and positive"
        if not shapes.is_static(shape_of(op.diff_dst)):
            return "diff_dst becomes a kernel, so its sizes must be static"
        return no_kernel(target, op.src, onnx.ConvOp, onnx.TransposeOp)

    def emit(self, op: ConvBackwardWeightsOp, target: Target, emit: OpBuilder) -> SSAValue:
        src, diff_dst = channels_first(op, emit)
        n, groups = op.spatial_rank, op.groups
        batch = shapes.static(shape_of(op.diff_dst)[:1])
        assert batch is not None
        spatial = range(2, n + 2)
        shape = shapes.static_shape(op.diff_weights)
        assert shape is not None
        sizes = [size_of(emit, src, axis) for axis in spatial]
        grouped = reshape(emit, src, [*batch, groups, shape[1], *sizes])
        images = emit(onnx.TransposeOp(grouped, perm=[2, 1, 0, *range(3, n + 3)]))
        data = reshape(emit, images, [shape[1], groups * batch[0], *sizes])
        weights = emit(onnx.TransposeOp(diff_dst, perm=[1, 0, *spatial]))
        pads = [*op.pads_begin, *op.pads_end]
        steps, far = op.dilations, op.strides
        found = emit(onnx.ConvOp(data, weights, group=groups, pads=pads, strides=steps, dilations=far))
        taken = crop(emit, found, range(2, 2 + n), op.kernel)
        return emit(onnx.TransposeOp(taken, perm=[1, 0, *spatial]))
