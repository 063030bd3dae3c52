"""simplify: fold constants, canonicalize, remove common and dead ops, preserving locations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import RewritePattern

from dialects.grad.stop_gradient import StopGradientOp
from dialects.onnx.declared_types import adopt_declared
from passes.builder.pattern_driver import Walker
from passes.builder.rewriting import functions, inner_wrt, refresh_function_types
from passes.simplify.folding import EraseDead, Fold, RefineTypes, fold, fold_chains, is_folded
from passes.simplify.merging import merge_equal
from passes.simplify.patterns import patterns_of


@dataclass(frozen=True)
class SimplifyPass(ModulePass):
    name = "simplify"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        simplify(op)


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
    walker, changed = Walker(simplifications), True
    while changed:
        while walker.walk(module):
            pass
        blocks = [block for function in functions(module) for block in function.body.blocks]
        changed = sum(map(merge_equal, blocks)) > 0 or adopt_declared(module.walk())
    refresh_function_types(module)


@cache
def simplifications(cls: type[Operation]) -> tuple[RewritePattern, ...]:
    """Return the patterns for the ops of a class."""
    if issubclass(cls, StopGradientOp):
        return (EraseDead(), RefineTypes())
    if not is_folded(cls):
        return (EraseDead(),)
    return (EraseDead(), Fold(), RefineTypes(), *patterns_of(cls.name))
