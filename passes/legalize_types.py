"""legalize-types: every tensor gets a dtype for which the target has kernels.

1. A gradient of half type is computed in f32 and rounded once: its operands are widened, its result is
   narrowed. A target whose one kernel for the op accumulates in f32 by itself keeps the half type.
2. An ONNX op without a kernel for its half type is widened the same way.
3. An ONNX op without a kernel for its int or bool type is left to the final contract, which says so.

Case 1 applies to source and canonical ops alike, so that whatever an op is lowered to, intermediate
values included, is in f32.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from dialects.cann.resize import ResizeBilinearV2GradOp, UpsampleBilinear2dBackwardOp
from dialects.grad.conv import ConvBackwardDataOp, ConvTransposeBackwardDataOp, TakeWindowOp
from dialects.grad.resize import ResizeBackwardDynamicOp, ResizeBackwardOp
from dialects.onednn.conv_transpose import ConvTransposeBackwardDataOp as OneDNNConvTranspose
from dialects.onednn.convolution import ConvolutionBackwardDataOp as OneDNNConvolution
from dialects.onednn.interpolate import InterpolateBackwardOp
from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.support import shapes
from dialects.support.dtypes import HALVES, name_of
from dialects.support.interfaces import set_type
from dialects.support.shapes import shape_of
from passes.support.rewriting import rewrite, simplify
from passes.target import Target, TargetPass

GRADIENTS = (
    OneDNNConvolution,
    OneDNNConvTranspose,
    InterpolateBackwardOp,
    ResizeBilinearV2GradOp,
    UpsampleBilinear2dBackwardOp,
    ConvBackwardDataOp,
    ConvTransposeBackwardDataOp,
    TakeWindowOp,
    ResizeBackwardOp,
    ResizeBackwardDynamicOp,
)

ACCUMULATES_IN_F32: dict[tuple[str, str], tuple[type[Operation], ...]] = {
    ("cuda", "f16"): (
        OneDNNConvolution,
        OneDNNConvTranspose,
        ConvBackwardDataOp,
        ConvTransposeBackwardDataOp,
        TakeWindowOp,
    ),
}
"""(target, half type) -> ops whose lowering is one kernel that takes the half type and accumulates in
f32. cuDNN's f16 convolutions do; a resize is several products, whose intermediate values would round.
"""


@dataclass(frozen=True)
class LegalizeTypesPass(TargetPass):
    name = "legalize-types"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [WidenGradient(self.env), WidenOnnx(self.env)])
        simplify(ctx, op)


@dataclass
class WidenGradient(RewritePattern):
    target: Target

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, GRADIENTS):
            return
        native = _native(op, self.target)
        halves = [v for v in (*op.operands, *op.results) if is_half(v)]
        if halves and not native:
            widen(op, rewriter)


def _native(op: Operation, target: Target) -> bool:
    dtypes = {name_of(shapes.element_type_of(result)) for result in op.results}
    return all(isinstance(op, ACCUMULATES_IN_F32.get((target.name, dtype), ())) for dtype in dtypes)


@dataclass
class WidenOnnx(RewritePattern):
    target: Target

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, OnnxOp) or isinstance(op, onnx.ConstantOp | onnx.CastOp):
            return
        if any(map(is_half, op.operands)) and self.target.lacks_kernel(op):
            widen(op, rewriter)


def is_half(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and name_of(value.type.element_type) in HALVES


def widen(op: Operation, rewriter: PatternRewriter) -> None:
    """Compute an op in f32: half operands are cast before, half results after."""
    for index, operand in enumerate(op.operands):
        if is_half(operand):
            wide = onnx.CastOp(operand, to=f32)
            rewriter.insert(wide, InsertPoint.before(op))
            op.operands[index] = wide.results[0]
    for result in op.results:
        if not is_half(result):
            continue
        half = shapes.element_type_of(result)
        set_type(result, shapes.tensor_type(f32, shape_of(result)))
        narrow = onnx.CastOp(result, to=half)
        rewriter.insert(narrow, InsertPoint.after(op))
        result.replace_uses_with_if(narrow.results[0], lambda use, narrow=narrow: use.operation != narrow)
        narrow.results[0].name_hint, result.name_hint = result.name_hint, None
    rewriter.notify_op_modified(op)
