"""erase-stop-gradients: replace `grad.stop_gradient` by its operand, after all differentiation."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from passes.builder.operands import replace_uses
from passes.builder.rewriting import refresh_function_types

NAME = "grad.stop_gradient"


@dataclass(frozen=True)
class EraseStopGradientsPass(ModulePass):
    name = "erase-stop-gradients"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        stops = [inner for inner in op.walk() if inner.name == NAME]
        for stop in stops:
            replace_uses(stop.results[0], stop.operands[0])
            Rewriter.erase_op(stop)
        if stops:
            refresh_function_types(op)
