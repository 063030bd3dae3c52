"""select-strategy: lower every canonical gradient to ONNX with a suitable strategy.

`strategy=auto` takes the one named by the op's attribute `gradc.choice`, and if that does not apply, or there
is none, the cheapest one. Any other name forces that strategy on every op that it lowers, or fails with the
reason; other ops are lowered as with `auto`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from dialects.support.diagnostics import Diagnostic, UnsupportedError, several
from dialects.support.error_list import Errors
from passes.builder.rewriting import rewrite
from passes.strategies import lowerable_ops
from passes.strategies.base import Strategy, apply_strategy
from passes.strategies.choice import AUTO, Candidate, candidates, choose, find_strategy, unused_choices
from passes.targets.target import Target, TargetPass

__all__ = ["AUTO", "Candidate", "candidates", "choose", "find_strategy", "unused_choices"]


@dataclass(frozen=True)
class SelectStrategyPass(TargetPass):
    name = "select-strategy"

    strategy: str = AUTO

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        forced = find_strategy(self.strategy)
        if forced and not any(isinstance(inner, forced.ops) for inner in op.walk()):
            lowered = several([cls.name for cls in forced.ops])
            what = f"strategy {forced.name} lowers {lowered} only, which the graph does not contain"
            raise UnsupportedError(Diagnostic("error", f"{what}; without a strategy gradc chooses one"))
        if not any(inner.name.startswith("grad.") for inner in op.walk()):
            return
        errors = Errors()
        rewrite(op, [SelectStrategy(forced, self.env, errors)], lowerable_ops())
        errors.check()


@dataclass
class SelectStrategy(RewritePattern):
    forced: Strategy | None
    target: Target
    errors: Errors
    """Errors of the ops that no strategy can lower."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        with self.errors.collecting():
            strategy = choose(op, self.forced, self.target)
            apply_strategy(strategy, op, self.target, rewriter)
