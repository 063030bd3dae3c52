"""lower-cann: convert Ascend's resize gradients to canonical ones.

1. `cann.upsample_bilinear2d_backward` is `cann.resize_bilinear_v2_grad` with half_pixel_centers = not
   alignCorners; its missing image is a tensor of inputSize, of which only the shape is read.
2. `cann.resize_bilinear_v2_grad` is `grad.resize_backward` on H and W, and a Cast if the dtypes of image and
   gradient differ.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from dialects.cann.resize import ResizeBilinearV2GradOp, UpsampleBilinear2dBackwardOp
from dialects.onnx import ops as onnx
from dialects.support import layouts
from dialects.support.documented_op import build
from dialects.support.shapes import element_type_of, shape_of
from passes.builder.op_builder import OpBuilder
from passes.builder.rewriting import replace, rewrite


@dataclass(frozen=True)
class LowerCannPass(ModulePass):
    name = "lower-cann"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(
            op, [ConvertUpsample(), ConvertResize()], (UpsampleBilinear2dBackwardOp, ResizeBilinearV2GradOp)
        )


class ConvertUpsample(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: UpsampleBilinear2dBackwardOp, rewriter: PatternRewriter) -> None:
        emit = OpBuilder()
        image = _image(op, emit)
        corners = op.alignCorners
        resized = build(
            ResizeBilinearV2GradOp,
            (op.grad_out, image),
            {
                "align_corners": corners,
                "half_pixel_centers": not corners,
                "scales": (op.scalesH, op.scalesW),
                "format": op.format,
            },
        )
        replace(op, rewriter, emit, [emit(resized)])


def _image(op: UpsampleBilinear2dBackwardOp, emit: OpBuilder) -> SSAValue:
    """Return a tensor of inputSize with gradOut's batch; it folds away, as only its shape is read."""
    batch = layouts.axis_of(op.format, "N", 2)
    sizes = [
        emit.sizes(op.grad_out, [axis]) if axis == batch else emit.ints([dim])
        for axis, dim in enumerate(op.inputSize)
    ]
    zeros = emit(onnx.ConstantOfShapeOp(emit.concat(sizes)))
    return emit(onnx.CastOp(zeros, to=element_type_of(op.grad_out)))


class ConvertResize(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ResizeBilinearV2GradOp, rewriter: PatternRewriter) -> None:
        from passes.resize.backward import ResizeAxis, emit_resize_backward

        emit = OpBuilder()
        image = shape_of(op.original_image)
        spatial = layouts.spatial_axes(op.format, 2)
        axes = [ResizeAxis(axis, image[axis], step) for axis, step in zip(spatial, op.steps(), strict=True)]
        value = emit_resize_backward(emit, op.grads, axes, op.rule(), op.original_image)
        dtype = element_type_of(op.original_image)
        if element_type_of(value) != dtype:
            value = emit(onnx.CastOp(value, to=dtype))
        replace(op, rewriter, emit, [value])
