"""materialize-constants: convert dense `arith.constant`s of source text to `onnx.Constant`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from dialects.onnx import ops as onnx
from dialects.support.constants import constant_value
from passes.builder.rewriting import rewrite

ARITH_CONSTANT = "arith.constant"
"""By its name: xDSL's arith dialect takes long to import, and few graphs have it."""


@dataclass(frozen=True)
class MaterializeConstantsPass(ModulePass):
    name = "materialize-constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if any(inner.name == ARITH_CONSTANT for inner in op.walk()):
            rewrite(op, [MaterializeConstant()])


class MaterializeConstant(RewritePattern):
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        value = constant_value(op.results[0]) if op.name == ARITH_CONSTANT else None
        if value is not None:
            rewriter.replace(op, onnx.ConstantOp(value))
