"""Rewriting that preserves locations, types and choices of strategies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import Rewriter

from dialects.onnx.node import NodeOp
from dialects.support import shapes
from dialects.support.documented_op import CHOICE, DocumentedOp
from dialects.support.entry import return_op, update_function_type
from dialects.support.interfaces import set_type
from dialects.support.shapes import shape_of
from passes.builder.op_builder import OpBuilder
from passes.builder.pattern_driver import Walker


def rewrite(
    module: ModuleOp, patterns: Sequence[RewritePattern], ops: tuple[type[Operation], ...] = (Operation,)
) -> bool:
    """Apply the patterns to all ops of the classes `ops`, new and neighbouring ones included, and update
    function types; return whether anything changed."""
    changed = Walker(lambda cls: patterns if issubclass(cls, ops) else ()).walk(module)
    refresh_function_types(module)
    return changed


REQUEST = "gradc.request"
"""Attribute of a function that is to be differentiated: the names of the values that it returns, as
passes/autodiff/pin_values.py writes them."""


def differentiated_by(module: ModuleOp) -> list[SSAValue]:
    """Return the values by which the functions are to be differentiated."""
    found: list[SSAValue] = []
    for function in functions(module):
        request = function.attributes.get(REQUEST)
        if isinstance(request, DictionaryAttr):
            results, names = return_op(function).arguments, cast("ArrayAttr[StringAttr]", request.data["wrt"])
            found += results[len(results) - len(names) :]
    return found


def inner_wrt(module: ModuleOp) -> list[SSAValue]:
    """Return those values that are not arguments; rewrites keep them."""
    return [value for value in differentiated_by(module) if not isinstance(value, BlockArgument)]


def functions(module: ModuleOp) -> list[FuncOp]:
    return [op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]


def refresh_function_types(module: ModuleOp) -> None:
    for function in functions(module):
        update_function_type(function)


def drop_unread_nodes(function: FuncOp) -> None:
    """Erase unread nodes of other domains, as only their runtime can compute them."""
    for op in reversed(list(function.body.block.ops)):
        if isinstance(op, NodeOp) and not any(result.first_use for result in op.results):
            Rewriter.erase_op(op)


def replace(op: Operation, rewriter: PatternRewriter, emit: OpBuilder, values: Sequence[SSAValue]) -> None:
    """Replace `op` by the new ops, and its results by `values`.

    The values inherit the results' known sizes and names; gradient ops inherit the op's choice of a strategy.
    """
    if CHOICE in op.attributes:
        for gradient in (new for new in emit.ops if isinstance(new, DocumentedOp)):
            gradient.attributes.setdefault(CHOICE, op.attributes[CHOICE])
    made = {result for new in emit.ops for result in new.results}
    for value, old in zip(values, op.results, strict=True):
        if value in made:
            set_type(value, _merge_types(value, old))
    rewriter.replace(op, emit.ops, values)


def _merge_types(value: SSAValue, old: SSAValue) -> Attribute:
    ranked = isinstance(value.type, TensorType), isinstance(old.type, TensorType)
    if not all(ranked):
        return old.type if ranked[1] else value.type
    shape = shapes.merge(shape_of(value), shape_of(old))
    return shapes.tensor_type(shapes.element_type_of(value), shape)
