"""Folding of constants, and the refinement of types that it allows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard, cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, UnrankedTensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import Rewriter
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from dialects.grad.stop_gradient import StopGradientOp
from dialects.onnx.base import OnnxConstant, OnnxOp
from dialects.onnx.declared_types import adopt_declared
from dialects.onnx.ops import ConstantOp, IfOp
from dialects.onnx.values import constant_of
from dialects.support import shapes
from dialects.support.constants import constant_attribute
from dialects.support.interfaces import InfersTypes, refine_results
from dialects.support.shapes import shape_of
from passes.builder.operands import replace_uses
from passes.builder.pattern_driver import Walker
from passes.builder.rewriting import refresh_function_types
from passes.simplify.patterns import InlineConstantIf


def fold(module: ModuleOp, kept: Iterable[SSAValue], *, adopting: bool = True) -> None:
    """Fold constants and refine types. Ops that define or read a value of `kept` are not folded. Without
    `adopting` no value gets a rank from the model's declaration alone."""
    patterns = (FoldBut(frozenset(kept)), RefineTypes())
    walker = Walker(
        lambda cls: patterns if is_folded(cls) else patterns[1:] if issubclass(cls, StopGradientOp) else ()
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
        if not any(map(is_open, op.results)):
            return
        if refine_results(op):
            rewriter.notify_op_modified(op)
            for use in (use for result in op.results for use in result.uses):
                rewriter.notify_op_modified(use.operation)


def is_open(value: SSAValue) -> bool:
    """Return whether a value is a tensor of unknown rank or with an unknown size."""
    if shapes.has_rank(value):
        return not shapes.is_static(shape_of(value))
    return isinstance(value.type, UnrankedTensorType)


def is_folded(cls: type[Operation]) -> TypeGuard[type[OnnxOp]]:
    return issubclass(cls, OnnxOp) and not issubclass(cls, OnnxConstant)
