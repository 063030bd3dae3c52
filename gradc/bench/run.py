"""Execution of benchmark cases: prepares, checks and times every contestant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from statistics import median
from typing import TypeVar

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from dialects.support.diagnostics import GradcError, UnsupportedError
from dialects.support.documented_op import STRATEGY
from gradc.bench.floors import Group, Target, group_of, target_of
from gradc.bench.peers.base import Contestant, NotSupported, Peer
from gradc.bench.truth import Truth, truth
from gradc.compiler.compiled import Compiled
from gradc.compiler.driver import compile_module
from gradc.compiler.options import Options
from gradc.crash_reports.crash import InternalError
from gradc.problems import OPS, Problem
from gradc.tuning.measure import Samples, alternate, quartiles
from gradc.verification.verify import OutputError
from passes.strategies import strategies_of

GRADC = "gradc"
ALL = "all"

ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class Settings:
    """`strategy` is auto, all, or one name; `budget` is in seconds per contestant and case."""

    threads: int
    strategy: str = "auto"
    budget: float = 0.25
    seed: int = 0


@dataclass(frozen=True)
class Case:
    """A problem and its label."""

    problem: Problem
    label: str = ""


@dataclass(frozen=True)
class Outcome:
    """Outcome of one contestant; `note` is the reason why it was not timed, or its defect.

    `seconds` is the median run; `ratio` to gradc's time is the median over bursts, `spread` their quartiles.
    `error` is relative to the largest magnitude of the result.
    """

    name: str
    note: str = ""
    seconds: float | None = None
    ratio: float | None = None
    spread: tuple[float, float] | None = None
    error: float | None = None


@dataclass(frozen=True)
class Result:
    """The outcomes of one case, gradc's first. `chosen` names the strategy of gradc's model."""

    case: Case
    outcomes: tuple[Outcome, ...]
    chosen: str = ""
    failure: str = ""

    @property
    def gradc(self) -> Outcome:
        return self.outcomes[0]

    @property
    def peers(self) -> tuple[Outcome, ...]:
        return tuple(o for o in self.outcomes if not o.name.startswith(GRADC))

    @property
    def strategies(self) -> tuple[Outcome, ...]:
        return tuple(o for o in self.outcomes if o.name.startswith(f"{GRADC}:"))

    @property
    def best(self) -> Outcome | None:
        """The fastest peer with right results."""
        return min((o for o in self.peers if o.ratio is not None), key=_ratio, default=None)

    @property
    def ratio(self) -> float | None:
        """Speed relative to the best peer."""
        return self.best.ratio if self.best else None

    @property
    def best_strategy(self) -> Outcome | None:
        return min((o for o in self.strategies if o.ratio is not None), key=_ratio, default=None)

    @property
    def group(self) -> Group:
        return group_of(self.case.problem)

    @property
    def target(self) -> Target:
        return target_of(self.case.problem)

    @property
    def is_below(self) -> bool:
        return self.ratio is not None and self.ratio < self.target.floor


def _ratio(outcome: Outcome) -> float:
    assert outcome.ratio is not None
    return outcome.ratio


def run_case(case: Case, settings: Settings, peers: Sequence[Peer]) -> Result:
    """Run a case. Raises GradcError if gradc does not compile the problem."""
    problem = case.problem
    true = truth(problem, settings.seed)
    ours = _compile(problem, settings, "auto" if settings.strategy == ALL else settings.strategy)
    models, notes = {GRADC: ours}, {}
    if settings.strategy == ALL:
        others, notes = _others(problem, settings)
        models |= others
    duplicate = _same_model_as_auto(models)
    if duplicate is not None:
        del models[duplicate]
    ready = [_ours(name, compiled, settings, problem) for name, compiled in models.items()]
    for peer in peers:
        try:
            ready.append(_start(peer, problem, settings.seed))
        except NotSupported as error:
            notes[peer.name] = str(error)
    errors = {contestant.name: _error(contestant, true) for contestant in ready}
    wrong = {name: wrong_note(error.worst, error.rtol) for name, error in errors.items() if not error.ok}
    failure = next((f"{name} is {note}" for name, note in wrong.items() if name.startswith(GRADC)), "")
    right = [contestant for contestant in ready if contestant.name not in wrong]
    failure = failure or _disagreement(right, true)
    timed = alternate(right, settings.budget) if GRADC not in wrong else {}
    names = [*(contestant.name for contestant in ready), *notes]
    notes |= wrong
    outcomes = [_outcome(name, notes.get(name, ""), timed, errors.get(name)) for name in names]
    if duplicate is not None:
        outcomes.insert(1, replace(outcomes[0], name=duplicate, note="the same model as auto's"))
    return Result(case, tuple(outcomes), _chosen(ours), failure)


def _same_model_as_auto(models: Mapping[str, Compiled]) -> str | None:
    """Return the strategy whose model equals auto's, except for metadata; it is not timed twice."""
    graphs = {name: m.model.graph.SerializeToString(deterministic=True) for name, m in models.items()}
    return next((name for name in graphs if name != GRADC and graphs[name] == graphs[GRADC]), None)


def _start(peer: Peer, problem: Problem, seed: int) -> Contestant:
    """Return a peer's contestant after a first run; any failure of it is NotSupported."""
    try:
        contestant = peer.prepare(problem, seed)
        contestant.run()
    except NotSupported:
        raise
    except Exception as error:
        raise NotSupported(f"failed: {' '.join(str(error).split())[:200]}") from error
    return contestant


def _chosen(compiled: Compiled) -> str:
    """Return the strategy that wrote the model."""
    found = {op.attributes[STRATEGY] for op in compiled.module.walk() if STRATEGY in op.attributes}
    return "+".join(sorted(name.data for name in found if isinstance(name, StringAttr)))


def _others(problem: Problem, settings: Settings) -> tuple[dict[str, Compiled], dict[str, str]]:
    """Return the model of every applicable strategy, and the reasons of the others."""
    models, refused = {}, {}
    for name in _strategy_names(problem):
        try:
            models[f"{GRADC}:{name}"] = _compile(problem, settings, name)
        except UnsupportedError as error:
            refused[f"{GRADC}:{name}"] = error.diagnostic.message
    return models, refused


def _compile(problem: Problem, settings: Settings, strategy: str) -> Compiled:
    options = Options(strategy=strategy, threads=settings.threads)
    return compile_module(problem.module(settings.seed), options)


def _strategy_names(problem: Problem) -> Iterator[str]:
    op: Operation = next(op for op in problem.module().walk() if type(op) in OPS)
    return (strategy.name for strategy in strategies_of(op))


def _ours(name: str, compiled: Compiled, settings: Settings, problem: Problem) -> Contestant:
    bound = compiled.session(threads=settings.threads).bound(problem.feeds(settings.seed))
    return Contestant(name, bound, lambda: bound.results()["diff_src"])


def _error(contestant: Contestant, true: Truth) -> OutputError:
    contestant.run()
    return true.error(contestant.name, contestant.result(), peer=not contestant.name.startswith(GRADC))


def wrong_note(error: float, bound: float) -> str:
    return f"wrong: off by {error:.2g} of the largest magnitude, bound {bound:.2g}"


def _disagreement(right: Sequence[Contestant], true: Truth) -> str:
    """Compare the results with each other, as the reference only covers a part of them."""
    if not right:
        return "no result is right"
    first = right[0].result()
    for other in right[1:]:
        error = true.agreement(other.name, other.result(), first)
        if not error.ok:
            names = f"{right[0].name} and {other.name}"
            return f"{names} differ by {error.worst:.2g} outside the part that the reference covers"
    return ""


def _outcome(name: str, note: str, timed: Mapping[str, Samples], error: OutputError | None) -> Outcome:
    worst = error.worst if error is not None and isfinite(error.worst) else None
    return with_times(Outcome(name, note, error=worst), timed)


OutcomeT = TypeVar("OutcomeT", bound=Outcome)


def with_times(outcome: OutcomeT, timed: Mapping[str, Samples]) -> OutcomeT:
    """Add the times of a contestant, if it was timed, and their ratio to gradc's."""
    if outcome.name not in timed:
        return outcome
    samples, ratios = timed[outcome.name], timed[GRADC].ratios(timed[outcome.name])
    return replace(outcome, seconds=samples.median, ratio=median(ratios), spread=quartiles(ratios))


def or_failure(run: Callable[[], ResultT], failed: Callable[[str], ResultT]) -> ResultT:
    """Run a case; if gradc fails to compile it, only this case fails."""
    try:
        return run()
    except GradcError as error:
        return failed(error.diagnostic.message)
    except InternalError as error:
        return failed(str(error))
