"""infer-types: give every value what its op's operands, attributes and declared type say together.

Names of symbolic dims travel along. A declared type that contradicts is the user's error, located at
the op. Function types follow.

What reads a value may know more of its shape: the channels of diff_dst are those of the weights. An input
that is declared without them is given them, so that a runtime refuses data with others. A size that a named
dim turns out to have is that of all dims of the name.

What then still has two readings is given one, for which the op has a remark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from dialects.geometry.forms import Size
from dialects.support import shapes
from dialects.support.findings import Errors
from dialects.support.interfaces import (
    HasReadings,
    InfersTypes,
    KnowsOperands,
    refine_operands,
    refine_results,
    set_type,
)
from dialects.support.shapes import Shape, element_type_of, shape_of, tensor_type
from passes.emit.rewriting import functions, refresh_function_types


@dataclass(frozen=True)
class InferTypesPass(ModulePass):
    name = "infer-types"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            _propagate(function)
            for inner in function.walk():
                if isinstance(inner, HasReadings) and inner.settle():
                    _propagate(function)
        refresh_function_types(op)


def with_readings(module: ModuleOp) -> ModuleOp:
    """The module, or a copy where `settle_readings` changes something."""
    if not any(isinstance(op, HasReadings) and op.is_open for op in module.walk()):
        return module
    copy = module.clone()
    settle_readings(copy)
    return copy


def settle_readings(module: ModuleOp) -> None:
    """Write down how each op is read whose types leave two readings: what a source means is not to depend
    on the sizes of a run."""
    if not any(isinstance(op, HasReadings) and op.is_open for op in module.walk()):
        return
    inferred = module.clone()
    InferTypesPass().apply(Context(), inferred)
    for op, told in zip(module.walk(), inferred.walk(), strict=True):
        if isinstance(op, HasReadings) and op.is_open:
            op.attributes |= told.attributes
            set_type(
                op.results[0], shapes.tensor_type(element_type_of(op.results[0]), shape_of(told.results[0]))
            )


def _propagate(function: FuncOp) -> None:
    """Names are those of one function. Each round but the last gives a dim a size or a name."""
    values = [*function.args, *(result for op in function.walk() for result in op.results)]
    tensors = [value for value in values if isinstance(value.type, TensorType)]
    declared = [shape_of(value) for value in tensors]
    while _refine(function) or _spread(tensors, declared):
        pass


def _refine(function: FuncOp) -> bool:
    """Whether an operand was refined, which ops before may read, too."""
    again, errors = False, Errors()
    for op in function.walk():
        with errors.collecting():
            if isinstance(op, InfersTypes):
                refine_results(op)
            again |= isinstance(op, KnowsOperands) and refine_operands(op)
    errors.check()
    return again


def _spread(values: Sequence[SSAValue], declared: Sequence[Shape]) -> bool:
    """Give a size that a dim was found to have to all dims of the name that it was declared with; whether
    that is news."""
    sizes = {
        name.name: size
        for value, before in zip(values, declared, strict=True)
        for name, size in zip(before, shape_of(value), strict=True)
        if isinstance(name, Size) and name.name is not None and isinstance(size, int)
    }
    changed = False
    for value in values if sizes else ():
        before = shape_of(value)
        shape = shapes.with_sizes(before, sizes)
        if shape != before:
            set_type(value, tensor_type(element_type_of(value), shape))
            changed = True
    return changed
