"""infer-types: infer all types from operands, attributes and declared types.

Names of symbolic dims are propagated. A contradicting declared type is the user's error, located at the op.
Function types are updated.

A reader may imply a shape: the channels of diff_dst are those of the weights. An input declared without them
gets them, so that a runtime rejects other data. A size inferred for a named dim holds for all dims of that
name.

Remaining ambiguities are resolved to one interpretation, reported as a remark on the op.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, UnrankedTensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from dialects.onnx import ops as onnx
from dialects.onnx import traits
from dialects.onnx.base import OnnxOp
from dialects.onnx.ops import IfOp
from dialects.shapes.forms import Size
from dialects.support import shapes
from dialects.support.diagnostics import GradcError
from dialects.support.error_list import Errors
from dialects.support.interfaces import (
    AmbiguousOp,
    InfersOperands,
    InfersTypes,
    refine_operands,
    refine_results,
    set_type,
)
from dialects.support.shapes import Shape, element_type_of, has_rank, shape_of, tensor_type
from passes.builder.rewriting import functions, refresh_function_types

_COMPARED = frozenset(("Cast", "Not")) | traits.COMPARISONS | traits.LOGICAL
"""Elementwise ops: a result of one element has operands of one element."""


@dataclass(frozen=True)
class InferTypesPass(ModulePass):
    name = "infer-types"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        infer_types(op)


def infer_types(module: ModuleOp) -> None:
    """Run the pass `infer-types` in place."""
    for function in functions(module):
        _propagate(function)
        for inner in function.walk():
            if isinstance(inner, AmbiguousOp) and inner.choose_reading():
                _propagate(function)
    refresh_function_types(module)


def with_resolved_readings(module: ModuleOp) -> ModuleOp:
    """Return the module, or a copy if `resolve_readings` would change it."""
    if not any(isinstance(op, AmbiguousOp) and op.is_ambiguous for op in module.walk()):
        return module
    copy = module.clone()
    resolve_readings(copy)
    return copy


def resolve_readings(module: ModuleOp) -> None:
    """Fix the interpretation of each op whose types allow two, so that the meaning of a source does not
    depend on the sizes of a run."""
    if not any(isinstance(op, AmbiguousOp) and op.is_ambiguous for op in module.walk()):
        return
    inferred = module.clone()
    infer_types(inferred)
    for op, typed in zip(module.walk(), inferred.walk(), strict=True):
        if isinstance(op, AmbiguousOp) and op.is_ambiguous:
            op.attributes |= typed.attributes
            set_type(
                op.results[0], shapes.tensor_type(element_type_of(op.results[0]), shape_of(typed.results[0]))
            )


def _propagate(function: FuncOp) -> None:
    """Infer types to a fixed point, with size names local to the function."""
    values = [*function.args, *(result for op in function.walk() for result in op.results)]
    tensors = [value for value in values if isinstance(value.type, TensorType)]
    declared = [shape_of(value) for value in tensors]
    while _refine(function) or _spread(tensors, declared):
        pass


def _refine(function: FuncOp) -> bool:
    """Infer the types of all ops; return whether an operand was refined, which earlier ops may read."""
    again, errors = False, Errors()
    for op in function.walk():
        with errors.collecting():
            if isinstance(op, InfersTypes):
                refine_results(op)
            again |= isinstance(op, InfersOperands) and refine_operands(op)
            again |= isinstance(op, IfOp) and (refine_condition(op) | _of_branches(op))
    errors.check()
    return again


def refine_with_regions(op: Operation) -> None:
    """Infer the result types of an op and, before, of the ops in its regions; contradictions are ignored."""
    if isinstance(op, IfOp):
        refine_condition(op)
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                refine_with_regions(inner)
    with suppress(GradcError):
        if isinstance(op, InfersTypes):
            refine_results(op)
        if isinstance(op, IfOp):
            _of_branches(op)


def _of_branches(op: IfOp) -> bool:
    """Refine the results of an If by the sizes that both branches share; return whether any changed."""
    ends = [region.block.last_op for region in op.regions]
    news = False
    for index, result in enumerate(op.results):
        made = [end.operands[index] for end in ends if end is not None]
        if not all(map(has_rank, made)):
            continue
        agreed = _common_sizes([shape_of(value) for value in made])
        known = shape_of(result) if has_rank(result) else agreed and (None,) * len(agreed)
        if agreed is None or known is None or len(agreed) != len(known):
            continue
        dims = tuple(dim if dim is not None else other for dim, other in zip(known, agreed, strict=True))
        if isinstance(result.type, UnrankedTensorType) or dims != known:
            set_type(result, tensor_type(element_type_of(result), dims))
            news = True
    return news


def _common_sizes(found: Sequence[Shape]) -> Shape | None:
    """Return the sizes that shapes have in common; None if their ranks differ."""
    if len(set(map(len, found))) != 1:
        return None
    return tuple(dims[0] if len(set(dims)) == 1 else None for dims in zip(*found, strict=True))


def _spread(values: Sequence[SSAValue], declared: Sequence[Shape]) -> bool:
    """Propagate each inferred size to all dims declared with the same name; return whether any changed."""
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


def refine_condition(op: onnx.IfOp) -> bool:
    """Set unknown sizes of an If's condition, and of the values that compute it in the same block, to 1.
    Return whether any changed."""
    waiting: list[SSAValue] = [op.cond]
    news = False
    while waiting:
        value = waiting.pop()
        owner = value.owner
        if not isinstance(owner, Operation) or owner.parent is not op.parent:
            continue
        news |= _has_one_element(value)
        compared = isinstance(owner, OnnxOp) and owner.onnx_name() in _COMPARED
        waiting += owner.operands if compared else ()
    return news


def _has_one_element(value: SSAValue) -> bool:
    if not isinstance(value.type, TensorType) or None not in shape_of(value):
        return False
    shape = [1 if dim is None else dim for dim in shape_of(value)]
    set_type(value, tensor_type(element_type_of(value), shape))
    return True
