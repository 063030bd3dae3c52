"""Fold an Expand to no elements: see the quirk expand-to-nothing."""

from __future__ import annotations

import numpy as np
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from dialects.onnx import ops as onnx
from dialects.support.dtypes import of_mlir
from dialects.support.shapes import element_type_of, has_rank, static_shape
from passes.builder.op_builder import OpBuilder
from passes.builder.rewriting import replace


class EmptyExpand(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ExpandOp, rewriter: PatternRewriter, /) -> None:
        shape = static_shape(op.output) if has_rank(op.output) else None
        dtype = of_mlir(element_type_of(op.output))
        if shape is None or 0 not in shape or dtype is None:
            return
        emit = OpBuilder()
        replace(op, rewriter, emit, [emit.constant(np.zeros(shape, dtype.numpy))])
