"""infer-types: give every value what its op's operands, attributes and declared type say together.

Names of symbolic dims travel along. A declared type that contradicts is the user's error, located at
the op. Function types follow.

What reads a value may know more of its shape: the channels of diff_dst are those of the weights. An input
that is declared without them is given them, so that a runtime refuses data with others.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from dialects.support.interfaces import InfersTypes, KnowsOperands, refine_operands, refine_results
from passes.support.rewriting import refresh_function_types


@dataclass(frozen=True)
class InferTypesPass(ModulePass):
    name = "infer-types"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if _refine(op):
            _refine(op)
        refresh_function_types(op)


def _refine(module: ModuleOp) -> bool:
    """Whether an operand was refined, which ops before may read, too."""
    again = False
    for op in module.walk():
        if isinstance(op, InfersTypes):
            refine_results(op)
        again |= isinstance(op, KnowsOperands) and refine_operands(op)
    return again
