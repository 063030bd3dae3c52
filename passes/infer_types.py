"""infer-types: give every value what its op's operands, attributes and declared type say together.

Names of symbolic dims travel along. A declared type that contradicts is the user's error, located at
the op. Function types follow.

What reads a value may know more of its shape: the channels of diff_dst are those of the weights. An input
that is declared without them is given them, so that a runtime refuses data with others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument
from xdsl.passes import ModulePass

from dialects.support.interfaces import (
    InfersTypes,
    KnowsOperands,
    refine_operands,
    refine_results,
    set_type,
)
from dialects.support.shapes import Shape, element_type_of, shape_of, tensor_type
from passes.support.rewriting import functions, refresh_function_types


@dataclass(frozen=True)
class InferTypesPass(ModulePass):
    name = "infer-types"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        arguments = [argument for function in functions(op) for argument in function.args]
        declared = [shape_of(argument) for argument in arguments]
        if _refine(op):
            _spread(arguments, declared)
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


def _spread(arguments: Sequence[BlockArgument], declared: Sequence[Shape]) -> None:
    """Give a size that one input's dim was found to have to all dims of that name."""
    sizes = {
        name: size
        for argument, before in zip(arguments, declared, strict=True)
        for name, size in zip(before, shape_of(argument), strict=True)
        if isinstance(name, str) and isinstance(size, int)
    }
    for argument in arguments:
        shape = [sizes.get(dim, dim) if isinstance(dim, str) else dim for dim in shape_of(argument)]
        set_type(argument, tensor_type(element_type_of(argument), shape))
