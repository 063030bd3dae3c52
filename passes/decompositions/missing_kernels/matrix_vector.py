"""Rewrite matrix-vector products to matrix products.

onnxruntime fuses a Transpose with the MatMul that reads it; for a vector operand the fused op ignores the
transposition (quirk transposed-matrix-by-vector).
"""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from dialects.onnx import ops as onnx
from dialects.support.shapes import has_rank, shape_of
from passes.builder.op_builder import OpBuilder
from passes.builder.rewriting import replace


class VectorAsColumn(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.MatMulOp, rewriter: PatternRewriter, /) -> None:
        if not has_rank(op.A) or not has_rank(op.B) or len(shape_of(op.A)) < 2 or len(shape_of(op.B)) != 1:
            return
        emit = OpBuilder()
        column = emit(onnx.UnsqueezeOp(op.B, emit.ints([1])))
        product = emit(onnx.MatMulOp(op.A, column))
        replace(op, rewriter, emit, [emit(onnx.SqueezeOp(product, emit.ints([-1])))])
