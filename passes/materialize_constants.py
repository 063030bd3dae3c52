"""materialize-constants: convert dense `arith.constant`s of source text to `onnx.Constant`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from dialects.onnx import ops as onnx
from dialects.support.constants import constant_value
from passes.builder.rewriting import rewrite


@dataclass(frozen=True)
class MaterializeConstantsPass(ModulePass):
    name = "materialize-constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [MaterializeConstant()], (ConstantOp,))


class MaterializeConstant(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConstantOp, rewriter: PatternRewriter) -> None:
        value = constant_value(op.result)
        if value is not None:
            rewriter.replace(op, onnx.ConstantOp(value))
