"""Rewriting with locations kept, and the small builder that every lowering writes through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    DenseIntOrFPElementsAttr,
    LocationAttr,
    ModuleOp,
    TensorType,
    UnknownLoc,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriterListener,
    PatternRewriteWalker,
    RewritePattern,
)
from xdsl.transforms.canonicalize import CanonicalizationRewritePattern
from xdsl.transforms.common_subexpression_elimination import cse
from xdsl.transforms.dead_code_elimination import region_dce

from dialects.onnx.base import OnnxOp
from dialects.onnx.ops import ConstantOp
from dialects.support import shapes
from dialects.support.dense import from_numpy
from dialects.support.documented_op import CHOICE, DocumentedOp
from dialects.support.entry import update_function_type
from dialects.support.interfaces import refine_results, set_type
from dialects.support.memo import MOST
from dialects.support.shapes import shape_of


@dataclass
class Emitter:
    """Collects new ops in order: `y = emit(onnx.AddOp(a, b))` gives the op's one result."""

    ops: list[Operation] = field(default_factory=list)

    def __call__(self, op: Operation) -> OpResult:
        self.ops.append(op)
        (result,) = op.results
        return result

    def constant(self, value: np.ndarray) -> OpResult:
        return self(ConstantOp(value))

    def ints(self, values: Sequence[int]) -> OpResult:
        """An int64 vector."""
        return self(ConstantOp(_ints(tuple(values))))


@lru_cache(MOST)
def _ints(values: tuple[int, ...]) -> DenseIntOrFPElementsAttr:
    return from_numpy(np.array(values, np.int64).reshape(len(values)))


@dataclass
class _Located(RewritePattern):
    """Gives the location of the matched op to every op that the pattern puts in its place.

    An exception is kept for the end of the walk: xDSL would print the whole module, weights and all,
    into a note of it.
    """

    pattern: RewritePattern
    location: LocationAttr = UNKNOWN_LOC
    failure: Exception | None = None

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if self.failure is not None:
            return
        self.location = op.location
        try:
            self.pattern.match_and_rewrite(op, rewriter)
        except Exception as error:
            self.failure = error

    def inserted(self, op: Operation) -> None:
        if isinstance(op.location, UnknownLoc):
            op.location = self.location


def rewrite(module: ModuleOp, patterns: Sequence[RewritePattern], *, repeat: bool = True) -> None:
    """Apply the patterns everywhere, and make function types follow."""
    _walk(module, GreedyRewritePatternApplier(list(patterns), dce_enabled=False), repeat)


def simplify(ctx: Context, module: ModuleOp) -> None:
    """Fold, canonicalize, and remove what is common or dead. Locations are kept."""
    patterns: list[RewritePattern] = [RefineTypes(), CanonicalizationRewritePattern()]
    pattern = GreedyRewritePatternApplier(patterns, ctx=ctx, folding_enabled=True)
    _walk(module, pattern, True)
    cse(module)
    for function in functions(module):
        region_dce(function.body)


class RefineTypes(RewritePattern):
    """A size that its op could not know when it was made, and can since its operands are constants.

    No op folds before its type says what the constant's will be.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, OnnxOp) or not any(None in shape_of(result) for result in op.results):
            return
        if refine_results(op):
            rewriter.notify_op_modified(op)
            for use in (use for result in op.results for use in result.uses):
                rewriter.notify_op_modified(use.operation)


def _walk(module: ModuleOp, pattern: RewritePattern, repeat: bool) -> None:
    located = _Located(pattern)
    listener = PatternRewriterListener(operation_insertion_handler=[located.inserted])
    PatternRewriteWalker(located, apply_recursively=repeat, listener=listener).rewrite_module(module)
    if located.failure is not None:
        raise located.failure
    refresh_function_types(module)


def functions(module: ModuleOp) -> list[FuncOp]:
    return [op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]


def refresh_function_types(module: ModuleOp) -> None:
    for function in functions(module):
        update_function_type(function)


def replace(op: Operation, rewriter: PatternRewriter, emit: Emitter, value: SSAValue) -> None:
    """Put the emitted ops in place of `op`, `value` for its result.

    The value inherits what the op's type knew of its shape, and the result's name; gradients among the
    emitted ops inherit the op's choice of a strategy.
    """
    (old,) = op.results
    if CHOICE in op.attributes:
        for gradient in (new for new in emit.ops if isinstance(new, DocumentedOp)):
            gradient.attributes.setdefault(CHOICE, op.attributes[CHOICE])
    if isinstance(value, OpResult) and value.op in emit.ops:
        set_type(value, _merged(value, old))
    rewriter.replace(op, emit.ops, [value])


def _merged(value: SSAValue, old: SSAValue) -> TensorType:
    shape = shapes.merge(shape_of(value), shape_of(old))
    return shapes.tensor_type(shapes.element_type_of(value), shape)
