"""Which strategy writes an op: the candidates with their costs, and the one that is chosen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from dialects.support import limits
from dialects.support.constants import constant_attribute
from dialects.support.diagnostics import (
    Diagnostic,
    UnsupportedError,
    UsageError,
    diagnostic_at,
    error_at,
    nearest,
    sentence,
)
from dialects.support.documented_op import CHOICE
from dialects.support.limits import Limits
from dialects.support.memo import Memo
from dialects.support.state import call_state
from passes.cost import price_written, problem_key
from passes.cost.sizes import TYPICAL
from passes.strategies import by_name, strategies_of
from passes.strategies.base import Strategy
from passes.target import Target

AUTO = "auto"


@dataclass(frozen=True)
class Candidate:
    """A strategy for an op: its cost in seconds, or the reason why it does not apply."""

    strategy: Strategy
    cost: float | None
    refusal: str | None


MOST_KNOWN = 4096
"""Problems whose candidates are remembered: a graph has many ops of few kinds."""

_known: dict[object, tuple[Candidate, ...]] = {}

_seen: dict[tuple[Target, Limits], Memo] = {}
"""The same by the identity of types and attributes: equal problems of one process mostly share theirs."""


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
    state = call_state(type(op), op.operands, op.properties)
    if state is None:
        return list(_of_problem(op, target))
    constant = (constant_attribute(operand) is not None for operand in op.operands)
    seen = _seen.setdefault((target, limits.current()), Memo())
    return list(seen.get((*state, *op.result_types, *constant), lambda: _of_problem(op, target)))


def _of_problem(op: Operation, target: Target) -> tuple[Candidate, ...]:
    key = (problem_key(op, target), limits.current())
    if key not in _known:
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        _known[key] = _candidates(op, target)
    return _known[key]


def _candidates(op: Operation, target: Target) -> tuple[Candidate, ...]:
    refusals = {strategy: strategy.refusal(op, target) for strategy in strategies_of(op)}
    applicable = [strategy for strategy, refusal in refusals.items() if refusal is None]
    prices = [price_written(strategy.write, op, target) for strategy in applicable]
    costs = dict(zip(applicable, worst_case(prices), strict=True))
    found = [Candidate(strategy, costs.get(strategy), refusal) for strategy, refusal in refusals.items()]
    return tuple(sorted(found, key=lambda c: (c.cost is None, c.cost)))


def worst_case(prices: Sequence[Sequence[float]]) -> list[float]:
    """One cost for each candidate from its prices at one or more sizes: its worst ratio to the best at
    those sizes, times the best at typical ones. At one size that is the price."""
    if not prices:
        return []
    best = [min(at_size) for at_size in zip(*prices, strict=True)]
    typical = best[min(TYPICAL, len(best) - 1)]
    return [max(p / b for p, b in zip(given, best, strict=True)) * typical for given in prices]


def choose(op: Operation, forced: Strategy | None, target: Target) -> Strategy:
    """The strategy for an op; UnsupportedError, with the reasons, where none applies."""
    if forced is not None and isinstance(op, forced.ops):
        found = [Candidate(forced, None, forced.refusal(op, target))]
    elif (chosen := _chosen(op)) is not None and _why_unused(chosen, op, target) is None:
        return chosen
    else:
        found = candidates(op, target)
    if found[0].refusal is None:
        return found[0].strategy
    raise _refused(op, found, forced, target)


def _chosen(op: Operation) -> Strategy | None:
    """The strategy that the op's attribute names; GradcError if there is none of that name."""
    named = op.attributes.get(CHOICE)
    if named is None:
        return None
    assert isinstance(named, StringAttr)
    known = by_name()
    if named.data not in known:
        what, hint = f"attribute {CHOICE}", nearest(named.data, known)
        raise error_at(op, what, given=named.data, expected=f"one of {', '.join(known)}", hint=hint)
    return known[named.data]


def _why_unused(chosen: Strategy, op: Operation, target: Target) -> str | None:
    if not isinstance(op, chosen.ops):
        return f"it does not know {op.name}"
    return chosen.refusal(op, target)


def unused_choices(module: ModuleOp, target: Target) -> Iterator[Diagnostic]:
    """A remark on every canonical gradient whose `gradc.choice` names a strategy that does not apply.

    An op that only one strategy knows, such as the window cut from a chosen gradient, has no choice.
    """
    for op in module.walk():
        if CHOICE not in op.attributes or len(strategies_of(op)) < 2:
            continue
        chosen = _chosen(op)
        assert chosen is not None
        if reason := _why_unused(chosen, op, target):
            what = f"the chosen strategy {chosen.name} does not apply: {reason}; gradc chooses"
            yield diagnostic_at(op, "remark", what)


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
