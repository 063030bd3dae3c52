"""Canonicalization without the other steps of `simplify`."""

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import RewritePattern

from passes.builder.pattern_driver import Walker
from passes.simplify import simplifications
from passes.simplify.folding import RefineTypes


def canonicalize(module: ModuleOp) -> None:
    """Fold, apply the canonicalization patterns and erase dead ops until nothing changes; types stay."""
    walker = Walker(_patterns)
    while walker.walk(module):
        pass


def _patterns(cls: type[Operation]) -> Sequence[RewritePattern]:
    return [pattern for pattern in simplifications(cls) if not isinstance(pattern, RefineTypes)]
