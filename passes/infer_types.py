"""infer-types: give every value what its op's operands, attributes and declared type say together.

Names of symbolic dims travel along. A declared type that contradicts is the user's error, located at
the op. Function types follow.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from dialects.support.interfaces import InfersTypes, refine_results
from passes.support.rewriting import refresh_function_types


@dataclass(frozen=True)
class InferTypesPass(ModulePass):
    name = "infer-types"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in op.walk():
            if isinstance(inner, InfersTypes):
                refine_results(inner)
        refresh_function_types(op)
