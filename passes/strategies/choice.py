"""Strategy selection: the priced candidate lowerings of an op, and the choice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue

from dialects.onnx.base import OnnxOp
from dialects.onnx.opsets import OLDEST
from dialects.support import limits, option_names
from dialects.support.constants import constant_attribute
from dialects.support.diagnostics import (
    Diagnostic,
    UnsupportedError,
    UsageError,
    diagnostic_at,
    error_at,
    sentence,
    suggest,
)
from dialects.support.documented_op import CHOICE
from dialects.support.limits import Limits
from dialects.support.memo import Memo, intern_value
from dialects.support.op_cache_key import call_state
from dialects.support.option_names import advice, option
from passes.builder.op_builder import OpBuilder
from passes.cost import exceeds, price_written, problem_key
from passes.cost.graph import Constants, live
from passes.cost.sizes import TYPICAL, Sizes, has_unknown, problem_at, shared_sizes
from passes.strategies import by_name, strategies_of
from passes.strategies.base import Strategy, lower_and_mark
from passes.targets.target import Target

AUTO = "auto"


@dataclass(frozen=True)
class Candidate:
    """A strategy for an op: its cost in seconds, or the reason why it does not apply."""

    strategy: Strategy
    cost: float | None
    refusal: str | None


MOST_KNOWN = 4096
"""Size of the cache of rankings: a graph has many ops of few kinds."""

SHARED_LAYOUT = 1.4
"""Allowed cost ratio of a strategy in the blocked layout of an op's neighbours: its price includes reorders,
which they share or need anyway. Of 1.15, 1.4 and 2.0, on gradients of eleven models, 1.4 was as fast as the
fastest but for noise: up to 12 % faster than none, with up to 15 % fewer nodes."""

PricingContext = tuple[Limits, option_names.Place]
"""Inputs of refusals and their wording, besides the problem."""

AtSizes = tuple[float, ...]
"""Seconds: one number, or one for each of `sizes.SIZES`."""

_known: dict[object, Ranking] = {}

_seen = Memo(MOST_KNOWN)
"""Cache by the identity of types and attributes, which equal problems in one process mostly share."""


@dataclass
class Ranking:
    """Prices and refusals of the strategies for one problem. The methods accept any op with this problem.

    An op is lowered and priced only if the strategy may be the cheapest: not if its `Strategy.least_price`
    exceeds the price of another one, at all of `sizes.SIZES` if sizes are unknown.
    """

    target: Target
    refusals: dict[Strategy, str | None]
    bounds: dict[Strategy, AtSizes] = field(default_factory=dict)
    prices: dict[Strategy, AtSizes] = field(default_factory=dict)
    """Prices of runnable lowerings."""

    is_settled: bool = False
    """True if a runnable strategy is known, or slow ones were tried; then the best price per size is
    known."""

    @classmethod
    def of(cls, op: Operation, target: Target) -> Ranking:
        return cls(target, {strategy: strategy.refusal(op, target) for strategy in strategies_of(op)})

    def candidates(self, op: Operation) -> list[Candidate]:
        """Return all candidates by cost; inapplicable ones come last."""
        self._settle(op)
        costs = {strategy: self.price(op, strategy) for strategy in self.refusals}
        found = [Candidate(s, costs[s], refusal) for s, refusal in self.refusals.items()]
        return sorted(found, key=lambda c: (c.cost is None, c.cost))

    def refusal(self, op: Operation, strategy: Strategy) -> str | None:
        """Return why a strategy does not apply, or None."""
        if strategy.strict_only:
            self._settle(op)
        self._write(op, strategy)
        return self.refusals[strategy]

    def price(self, op: Operation, strategy: Strategy) -> float | None:
        """Return the price; None, with a refusal, if the op cannot be lowered or run."""
        if has_unknown(op):
            self._settle(op)
        self._write(op, strategy)
        found = self.prices.get(strategy)
        return None if found is None else self._worst_price(found)

    def _worst_price(self, prices: AtSizes) -> float:
        """Combine the prices per size by `worst_case`."""
        return worst_case([prices], [*self.prices.values()])[0]

    def _write(self, op: Operation, strategy: Strategy) -> None:
        """Price a strategy, or record its refusal."""
        if self.refusals[strategy] is None and strategy not in self.prices:
            prices = self._lower_and_price(op, strategy)
            if self.refusals[strategy] is None:
                self.prices[strategy] = prices

    def _lower_and_price(self, op: Operation, strategy: Strategy) -> AtSizes:
        """Lower and price an op; record a refusal if the target cannot run the result."""

        def write(op: Operation, target: Target, emit: OpBuilder) -> Sequence[SSAValue]:
            values = lower_and_mark(strategy, op, target, emit)
            self.refusals[strategy] = missing_kernel(emit.ops, values, target)
            return values

        return price_written(write, op, self.target)

    def applicable(self) -> list[Strategy]:
        """Return the strategies not refused so far; those not yet lowered may turn out not to run."""
        return [strategy for strategy, refusal in self.refusals.items() if refusal is None]

    def _settle(self, op: Operation) -> None:
        if self.is_settled:
            return
        self._write_best(op, lambda _: True)
        if not self.prices:
            slow = [strategy for strategy in self.refusals if strategy.strict_only]
            self.refusals |= {s: s.refusal(op, self.target, alone=True) for s in slow}
            self._write_best(op, lambda _: True)
        self.is_settled = True

    def cheapest(self, op: Operation, among: Callable[[Strategy], bool] = lambda _: True) -> Candidate | None:
        """Return the cheapest applicable strategy, the first of equal ones."""
        self._settle(op)
        self._write_best(op, among)
        found = [
            (self._worst_price(self.prices[s]), i, s)
            for i, s in self._requested_values(among)
            if s in self.prices
        ]
        if not found:
            return None
        price, _, strategy = min(found, key=lambda one: one[:2])
        return Candidate(strategy, price, None)

    def _write_best(self, op: Operation, among: Callable[[Strategy], bool]) -> None:
        """Price all strategies but those whose bound exceeds another's price at all sizes."""
        self._bound(op)
        requested = self._requested_values(among)
        for _, strategy in sorted(requested, key=lambda one: (self._least(one[1]), one[0])):
            known = [self.prices[other] for _, other in requested if other in self.prices]
            if not any(_is_slower(self.bounds[strategy], prices) for prices in known):
                self._write(op, strategy)

    def _least(self, strategy: Strategy) -> float:
        at_sizes = self.bounds[strategy]
        return at_sizes[min(TYPICAL, len(at_sizes) - 1)]

    def is_any_below(self, op: Operation, seconds: float, among: Callable[[Strategy], bool]) -> bool:
        """Return whether an applicable strategy costs less than `seconds`."""
        self._settle(op)
        bounds = {
            strategy: self._worst_price(self.bounds[strategy])
            for _, strategy in self._requested_values(among)
        }
        for strategy in sorted(bounds, key=bounds.__getitem__):
            if exceeds(bounds[strategy], seconds):
                return False
            price = self.price(op, strategy)
            if price is not None and price < seconds:
                return True
        return False

    def _requested_values(self, among: Callable[[Strategy], bool]) -> list[tuple[int, Strategy]]:
        """Return the applicable strategies with their indices."""
        return [(i, s) for i, s in enumerate(self.refusals) if self.refusals[s] is None and among(s)]

    def _bound(self, op: Operation) -> None:
        """Compute the missing lower bounds."""
        missing = [strategy for strategy in self.applicable() if strategy not in self.bounds]
        if missing:
            self.bounds |= zip(missing, least_prices(op, missing, self.target), strict=True)


def least_prices(op: Operation, strategies: Sequence[Strategy], target: Target) -> list[AtSizes]:
    """Return `Strategy.least_price` of each; for unknown sizes at each of `sizes.SIZES`, 0 if those do not
    give a static problem."""
    if not has_unknown(op):
        return [(strategy.least_price(op, target),) for strategy in strategies]
    every = shared_sizes(op)
    known = {sizes: _least_at(op, sizes, strategies, target) for sizes in dict.fromkeys(every)}
    return [*zip(*(known[sizes] for sizes in every), strict=True)]


def _least_at(op: Operation, sizes: Sizes, strategies: Sequence[Strategy], target: Target) -> list[float]:
    with problem_at(op, sizes) as known:
        if known is None:
            return [0.0] * len(strategies)
        refused = (strategy.refusal(known, target, alone=True) for strategy in strategies)
        return [
            0.0 if reason else strategy.least_price(known, target)
            for strategy, reason in zip(strategies, refused, strict=True)
        ]


def _is_slower(bound: AtSizes, prices: AtSizes) -> bool:
    return all(map(exceeds, bound, prices))


def find_strategy(name: str) -> Strategy | None:
    """Return the strategy of a name (with dashes or underscores), None for `auto`. Raises UsageError."""
    spelled = name.replace("_", "-")
    if spelled == AUTO:
        return None
    if found := by_name().get(spelled):
        return found
    known = [AUTO, *by_name()]
    hint = suggest(spelled, known) or "docs/strategies.md lists all of them"
    text = sentence(option("strategy"), name, "auto or the name of a strategy", hint)
    raise UsageError(Diagnostic("error", text))


def _pricing_context() -> PricingContext:
    return limits.current(), option_names.current()


def candidates(op: Operation, target: Target) -> list[Candidate]:
    """Return every strategy for this kind of op by cost; inapplicable ones come last."""
    return ranking(op, target).candidates(op)


def ranking(op: Operation, target: Target) -> Ranking:
    """Return the ranking of an op's problem."""
    state = call_state(type(op), op.operands, op.properties)
    if state is None:
        return _of_problem(op, target)
    constant = (constant_attribute(operand) is not None for operand in op.operands)
    key = (*state, *op.result_types, *constant, intern_value((target, *_pricing_context())))
    return _seen.get(key, lambda: _of_problem(op, target))


def _of_problem(op: Operation, target: Target) -> Ranking:
    key = (problem_key(op, target), _pricing_context())
    if key not in _known:
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        _known[key] = Ranking.of(op, target)
    return _known[key]


def missing_kernel(ops: Sequence[Operation], values: Sequence[SSAValue], target: Target) -> str | None:
    """Return why the target cannot run an op that the values need, or None. Ops on constants are folded and
    do not count."""
    constant = Constants(ops)
    for op in live(ops, values):
        assert isinstance(op, OnnxOp)
        if not all(map(constant, op.results)) and (reason := target.lacks_form(op)):
            return reason
    return None


def worst_case(requested: Sequence[AtSizes], known: Sequence[AtSizes]) -> list[float]:
    """Return one cost per candidate: its worst ratio to the best known price at a size, times the best price
    at typical sizes. With one size that is the price."""
    if all(len(at_sizes) == 1 for at_sizes in requested):
        return [price for (price,) in requested]
    best = [min(at_size) for at_size in zip(*known, strict=True)]
    typical = best[min(TYPICAL, len(best) - 1)]
    return [max(p / b for p, b in zip(given, best, strict=True)) * typical for given in requested]


def choose(op: Operation, forced: Strategy | None, target: Target) -> Strategy:
    """Return the strategy for an op. Raises UnsupportedError, with the reasons, if none applies."""
    if forced is not None and isinstance(op, forced.ops):
        refusal = ranking(op, target).refusal(op, forced)
        if refusal is None:
            return forced
        raise _refusal_error(op, {forced: refusal}, forced, target)
    if (chosen := _chosen(op)) is not None and _why_unused(chosen, op, target) is None:
        return chosen
    known = ranking(op, target)
    if (found := known.cheapest(op)) is not None:
        return _prefer_blocked(op, known, found)
    raise _refusal_error(op, known.refusals, forced, target)


def _prefer_blocked(op: Operation, known: Ranking, cheapest: Candidate) -> Strategy:
    """Prefer a blocked strategy for an op between others, if it costs hardly more than the cheapest."""
    if not known.target.spec.prefers_nchwc or not _is_between_ops(op) or cheapest.cost is None:
        return cheapest.strategy
    for strategy in (s for s in known.applicable() if s.is_blocked):
        price = known.price(op, strategy)
        if price is not None and price <= SHARED_LAYOUT * cheapest.cost:
            return strategy
    return cheapest.strategy


def _is_between_ops(op: Operation) -> bool:
    """Return whether ONNX ops define the data and read the results."""
    read = (use.operation for result in op.results for use in result.uses)
    return isinstance(op.operands[0].owner, OnnxOp) and any(isinstance(user, OnnxOp) for user in read)


def _chosen(op: Operation) -> Strategy | None:
    """Return the strategy named by the op's attribute. Raises GradcError if there is none of that name."""
    named = op.attributes.get(CHOICE)
    if named is None:
        return None
    assert isinstance(named, StringAttr)
    known = by_name()
    if named.data not in known:
        what, hint = f"attribute {CHOICE}", suggest(named.data, known)
        raise error_at(op, what, given=named.data, expected=f"one of {', '.join(known)}", hint=hint)
    return known[named.data]


def _why_unused(chosen: Strategy, op: Operation, target: Target) -> str | None:
    if not isinstance(op, chosen.ops):
        return f"it does not know {op.name}"
    return ranking(op, target).refusal(op, chosen)


def unused_choices(module: ModuleOp, target: Target) -> Iterator[Diagnostic]:
    """Yield a remark for every canonical gradient whose `gradc.choice` names a strategy that does not apply.

    An op with a single strategy, such as the window cut from a chosen gradient, has no choice.
    """
    for op in module.walk():
        if CHOICE not in op.attributes or len(strategies_of(op)) < 2:
            continue
        chosen = _chosen(op)
        assert chosen is not None
        if reason := _why_unused(chosen, op, target):
            what = f"the chosen strategy {chosen.name} does not apply: {reason}; gradc chooses"
            yield diagnostic_at(op, "remark", what)


def _refusal_error(
    op: Operation, refusals: Mapping[Strategy, str | None], forced: Strategy | None, target: Target
) -> UnsupportedError:
    if forced is not None and list(refusals) == [forced]:
        what, hint = f"strategy {forced.name} does not apply: {refusals[forced]}", ""
    else:
        reasons = "; ".join(f"{strategy.name}: {refusal}" for strategy, refusal in refusals.items())
        what, hint = f"no strategy applies on {target.name}: {reasons}", _older(op, target)
    error = error_at(op, what, kind=UnsupportedError, hint=hint)
    assert isinstance(error, UnsupportedError)
    return error


def _older(op: Operation, target: Target) -> str:
    """Suggest the newest older opset at which a strategy applies, if any."""
    for opset in range(target.opset - 1, OLDEST - 1, -1):
        if ranking(op, replace(target, opset=opset)).cheapest(op) is not None:
            return advice("opset", "has one", opset)
    return ""
