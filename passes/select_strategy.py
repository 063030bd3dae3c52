"""select-strategy: write every canonical gradient in ONNX, each with the strategy that suits it.

`strategy=auto` takes the cheapest that applies. Any other name forces that strategy on every op of
the kinds that it knows, or fails with its reason; ops of other kinds are written as with `auto`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from dialects.support.diagnostics import (
    Diagnostic,
    UnsupportedError,
    UsageError,
    error_at,
    nearest,
    sentence,
)
from passes.cost import cost
from passes.strategies import by_name, strategies_of
from passes.strategies.base import Strategy, apply_strategy
from passes.support.rewriting import rewrite
from passes.target import Target, TargetPass

AUTO = "auto"


@dataclass(frozen=True)
class Candidate:
    """A strategy for an op: its cost, or the reason why it does not apply."""

    strategy: Strategy
    cost: float | None
    refusal: str | None


@dataclass(frozen=True)
class SelectStrategyPass(TargetPass):
    name = "select-strategy"

    strategy: str = AUTO

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        forced = find_strategy(self.strategy)
        if forced and not any(isinstance(inner, forced.ops) for inner in op.walk()):
            knows = ", ".join(known.name for known in forced.ops)
            what = f"strategy {forced.name} knows no op of this graph"
            raise UnsupportedError(Diagnostic("error", sentence(what, expected=f"one of {knows}")))
        rewrite(op, [SelectStrategy(forced, self.env)])


def find_strategy(name: str) -> Strategy | None:
    """The strategy of a name (dashes or underscores), None for `auto`; UsageError if there is none."""
    spelled = name.replace("_", "-")
    if spelled == AUTO:
        return None
    if found := by_name().get(spelled):
        return found
    known = [AUTO, *by_name()]
    text = sentence("--strategy", name, f"one of {', '.join(known)}", nearest(spelled, known))
    raise UsageError(Diagnostic("error", text))


def candidates(op: Operation, target: Target) -> list[Candidate]:
    """Every strategy that knows this kind of op, those that apply first, the cheapest first of all."""
    found = []
    for strategy in strategies_of(op):
        refusal = strategy.refusal(op, target)
        price = None if refusal else cost(strategy, op, target)
        found.append(Candidate(strategy, price, refusal))
    return sorted(found, key=lambda c: (c.cost is None, c.cost))


@dataclass
class SelectStrategy(RewritePattern):
    forced: Strategy | None
    target: Target

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not strategies_of(op):
            return
        strategy = choose(op, self.forced, self.target)
        apply_strategy(strategy, op, self.target, rewriter)


def choose(op: Operation, forced: Strategy | None, target: Target) -> Strategy:
    """The strategy for an op; UnsupportedError, with the reasons, where none applies."""
    found = candidates(op, target)
    if forced is not None and isinstance(op, forced.ops):
        found = [candidate for candidate in found if candidate.strategy is forced]
    if found[0].refusal is None:
        return found[0].strategy
    raise _refused(op, found, forced, target)


def _refused(
    op: Operation, found: Sequence[Candidate], forced: Strategy | None, target: Target
) -> UnsupportedError:
    reasons = "; ".join(f"{c.strategy.name}: {c.refusal}" for c in found)
    one = forced is not None and len(found) == 1
    what = (
        f"strategy {found[0].strategy.name} does not apply: {found[0].refusal}"
        if one
        else f"no strategy applies on {target.name}: {reasons}"
    )
    error = error_at(op, what, kind=UnsupportedError)
    assert isinstance(error, UnsupportedError)
    return error
