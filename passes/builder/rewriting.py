"""Rewriting that preserves locations: simplification, folding, equal ops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeGuard, cast

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    UnrankedTensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import Rewriter
from xdsl.traits import Pure
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from dialects.grad.stop_gradient import StopGradientOp
from dialects.onnx.base import OnnxConstant, OnnxOp
from dialects.onnx.canonicalize import InlineConstantIf
from dialects.onnx.declared_types import adopt_declared
from dialects.onnx.node import NodeOp
from dialects.onnx.ops import ConstantOp, IfOp
from dialects.onnx.opset_range import nondefault_attributes
from dialects.onnx.values import constant_of, dims_of
from dialects.shapes.forms import Size
from dialects.support import shapes
from dialects.support.constants import constant_attribute
from dialects.support.documented_op import CHOICE, STRATEGY, DocumentedOp
from dialects.support.entry import return_op, update_function_type
from dialects.support.interfaces import InfersTypes, refine_results, set_type
from dialects.support.memo import by_identity
from dialects.support.shapes import shape_of
from passes.builder.builder import Builder
from passes.builder.operands import replace_uses
from passes.builder.pattern_driver import Walker


def rewrite(
    module: ModuleOp, patterns: Sequence[RewritePattern], ops: tuple[type[Operation], ...] = (Operation,)
) -> bool:
    """Apply the patterns to all ops of the classes `ops`, new and neighbouring ones included, and update
    function types; return whether anything changed."""
    changed = Walker(lambda cls: patterns if issubclass(cls, ops) else ()).walk(module)
    refresh_function_types(module)
    return changed


def simplify(module: ModuleOp) -> None:
    """Fold, canonicalize, and remove common and dead ops until nothing changes, preserving locations.

    If inner values are to be differentiated, only fold: other rewrites could bypass them.
    """
    if inner := inner_wrt(module):
        fold(module, inner)
        return
    for function in functions(module):
        for block in function.body.blocks:
            fold_chains(block)
    walker, changed = Walker(_simplifications), True
    while changed:
        while walker.walk(module):
            pass
        blocks = [block for function in functions(module) for block in function.body.blocks]
        changed = sum(map(merge_equal, blocks)) > 0 or adopt_declared(module.walk())
    refresh_function_types(module)


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


def fold(module: ModuleOp, kept: Iterable[SSAValue], *, adopting: bool = True) -> None:
    """Fold constants and refine types. Ops that define or read a value of `kept` are not folded. Without
    `adopting` no value gets a rank from the model's declaration alone."""
    patterns = (FoldBut(frozenset(kept)), RefineTypes())
    walker = Walker(
        lambda cls: patterns if _is_folded(cls) else patterns[1:] if issubclass(cls, StopGradientOp) else ()
    )
    changed = True
    while changed:
        changed = walker.walk(module) or (adopting and adopt_declared(module.walk()))
    refresh_function_types(module)


def fold_chains(block: Block) -> None:
    """Fold chains of ops on constants like `Fold`, creating constants for their ends only."""
    known: dict[SSAValue, np.ndarray] = {}
    folded: list[Operation] = []

    def array_of(value: SSAValue) -> np.ndarray | None:
        found = known.get(value)
        return constant_of(value) if found is None else found

    for op in block.ops:
        if not op.operands or not isinstance(op, OnnxOp) or not _may_be_known(op, known):
            continue
        arrays = op.fold_arrays(array_of)
        if arrays is not None and _are_declared(op.results, arrays):
            known |= zip(op.results, arrays, strict=True)
            folded.append(op)
    inside = set(folded)
    for op in folded:
        for result in op.results:
            if any(use.operation not in inside for use in result.uses):
                _put_constant(result, known[result], op)
    for op in reversed(folded):
        Rewriter.erase_op(op)


def _may_be_known(op: Operation, known: Mapping[SSAValue, np.ndarray]) -> bool:
    return all(value in known or constant_attribute(value) is not None for value in op.operands)


def _are_declared(results: Sequence[SSAValue], arrays: Sequence[np.ndarray]) -> bool:
    """Return whether the arrays have the results' types; folding must not change a type."""
    if len(results) != len(arrays):
        return False
    types = (
        shapes.tensor_type(shapes.element_type_of(result), array.shape)
        for result, array in zip(results, arrays, strict=True)
    )
    return all(type_ == result.type for type_, result in zip(types, results, strict=True))


def _put_constant(result: SSAValue, array: np.ndarray, op: Operation) -> None:
    """Redirect the uses of an op's result to a new constant; the op is erased later."""
    constant = ConstantOp(array)
    constant.location = op.location
    constant.output.name_hint = result.name_hint
    block = op.parent_block()
    assert block is not None
    block.insert_op_before(constant, op)
    replace_uses(result, constant.output)


class EraseDead(RewritePattern):
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        # the trait lookup is slow, and most ops have readers
        if not any(result.first_use for result in op.results) and is_trivially_dead(op):
            rewriter.erase(op)


class Fold(RewritePattern):
    """Replace an op by constants if `fold` returns values of the declared types."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        assert isinstance(op, OnnxOp)
        folded = op.fold()
        if folded is None:
            return
        values = [
            cast(DenseIntOrFPElementsAttr, value)
            for value in folded
            if isinstance(value, DenseIntOrFPElementsAttr)
        ]
        if [value.type for value in values] == [result.type for result in op.results]:
            new = [ConstantOp(value) for value in values]
            rewriter.replace(op, new, [constant.output for constant in new])


@dataclass(frozen=True)
class FoldBut(RewritePattern):
    """`Fold` and `InlineConstantIf` for ops that neither define nor read a value of `kept`."""

    kept: frozenset[SSAValue]

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if self.kept.isdisjoint(op.results) and self.kept.isdisjoint(op.operands):
            pattern = InlineConstantIf() if isinstance(op, IfOp) else Fold()
            pattern.match_and_rewrite(op, rewriter)


class RefineTypes(RewritePattern):
    """Infer sizes that became known because operands became constants.

    An op folds only if its result type matches the constant.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        assert isinstance(op, InfersTypes)
        if not any(map(_is_open, op.results)):
            return
        if refine_results(op):
            rewriter.notify_op_modified(op)
            for use in (use for result in op.results for use in result.uses):
                rewriter.notify_op_modified(use.operation)


def _is_open(value: SSAValue) -> bool:
    """Return whether a value is a tensor of unknown rank or with an unknown size."""
    if shapes.has_rank(value):
        return not shapes.is_static(shape_of(value))
    return isinstance(value.type, UnrankedTensorType)


def _is_folded(cls: type[Operation]) -> TypeGuard[type[OnnxOp]]:
    return issubclass(cls, OnnxOp) and not issubclass(cls, OnnxConstant)


@cache
def _simplifications(cls: type[Operation]) -> tuple[RewritePattern, ...]:
    if issubclass(cls, StopGradientOp):
        return (EraseDead(), RefineTypes())
    if not _is_folded(cls):
        return (EraseDead(),)
    return (EraseDead(), Fold(), RefineTypes(), *cls.get_canonicalization_patterns())


def merge_equal(block: Block) -> bool:
    """Merge pure ops that are equal but for location, or compute the same sizes, into the first; return
    whether that may allow further simplification."""
    known: dict[object, Operation] = {}
    merged = news = False
    for op in block.ops:
        if op.regions or not _is_pure(type(op)):
            continue
        if merged and isinstance(op, OnnxOp) and any(map(_is_open, op.results)):
            # it may now read a value whose unknown sizes have other symbols
            news |= refine_results(op)
        first = _first_equal(op, known)
        if first is op:
            continue
        merged = True
        news |= first.name != op.name or list(first.operands) != list(op.operands)
        for result, same in zip(op.results, first.results, strict=True):
            replace_uses(result, same)
        Rewriter.erase_op(op)
    return news


def _first_equal(op: Operation, known: dict[object, Operation]) -> Operation:
    """Return the first op that equals this one or computes the same sizes, possibly itself."""
    sizes = _sizes(op)
    if sizes is not None and sizes in known:
        return known[sizes]
    first = known.setdefault(_likely_equal(op), op)
    if first is not op:
        first = known.setdefault(_equal(first), first)
        first = known.setdefault(_equal(op), op)
    if sizes is not None:
        known[sizes] = first
    return first


def _sizes(op: Operation) -> object:
    """Return type and elements of a vector of symbolic sizes; None for any other op."""
    if not isinstance(op, OnnxOp) or len(op.results) != 1:
        return None
    dims = dims_of(op.results[0])
    if dims is None or None in dims or all(isinstance(dim, int) for dim in dims):
        return None
    return ("sizes", op.result_types, dims)


def _likely_equal(op: Operation) -> object:
    """Return a key that is equal for equal ops and rarely for others; cheaper than `_equal`."""
    value = op.properties.get("value")
    data = value.data.data if isinstance(value, DenseIntOrFPElementsAttr) else None
    return (type(op), tuple(op.operands), data)


def _equal(op: Operation) -> object:
    """Return a key without location, strategy and attributes that are set to their defaults."""
    marks = {name: value for name, value in op.attributes.items() if name != STRATEGY}
    attributes = (tuple(sorted(given.items())) for given in (_nondefault_attributes(op), marks))
    return (type(op), tuple(op.operands), *map(_without_symbols, op.result_types), *attributes)


def _nondefault_attributes(op: Operation) -> Mapping[str, Attribute]:
    return nondefault_attributes(op) if isinstance(op, OnnxOp) else op.properties


@by_identity
def _without_symbols(type_: Attribute) -> Attribute:
    """Return the type with fresh symbols replaced by unknown sizes."""
    if not isinstance(type_, TensorType):
        return type_
    shape = [None if isinstance(dim, Size) and dim.is_fresh else dim for dim in shape_of(type_)]
    return shapes.tensor_type(type_.element_type, shape)


@cache
def _is_pure(cls: type[Operation]) -> bool:
    return cls.has_trait(Pure, value_if_unregistered=False)


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


def replace(op: Operation, rewriter: PatternRewriter, emit: Builder, values: Sequence[SSAValue]) -> None:
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
