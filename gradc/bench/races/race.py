"""Race of whole models: all results are checked, then the contestants are timed alternately."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import numpy as np

from gradc.bench.run import GRADC, Outcome, with_times, wrong_note
from gradc.tuning.measure import alternate

PEERS_SLACK = 8
"""Error bound of peers as a multiple of gradc's."""

Results = Mapping[str, Any]
"""Results of a run, by the names of gradc's model."""

Judge = Callable[[Results], tuple[float, float]]
"""Returns the worst error of the results and its bound, relative to the largest magnitude of a result."""


@dataclass(frozen=True, eq=False)
class Entrant:
    """One way to compute the results, with bound inputs. `nodes` counts those of its ONNX model.

    A `yardstick` computes something else, such as the forward pass of a gradient, and is not checked.
    """

    name: str
    run: Callable[[], object]
    results: Callable[[], Results]
    nodes: int | None = None
    yardstick: bool = False


@dataclass(frozen=True)
class Finish(Outcome):
    """Outcome of an entrant."""

    nodes: int | None = None
    yardstick: bool = False


@dataclass(frozen=True)
class Race:
    """The outcomes of one case, gradc's first; `kind` is gradient or model."""

    name: str
    kind: str
    finishes: tuple[Finish, ...]
    failure: str = ""

    @property
    def gradc(self) -> Finish:
        return self.finishes[0]


def within(expected: Results, bound: float) -> Judge:
    """Return a judge that compares every result within `bound` of its largest magnitude."""

    def judge(found: Results) -> tuple[float, float]:
        return max((_error(found[name], want) for name, want in expected.items()), default=0.0), bound

    return judge


def _error(got: Any, want: Any) -> float:
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    if got.shape != want.shape:
        return inf
    if want.size == 0:
        return 0.0
    error = float(np.abs(got - want).max())
    return error / max(float(np.abs(want).max()), 1e-30) if isfinite(error) else inf


def race(
    name: str,
    kind: str,
    entrants: Sequence[Entrant],
    notes: Mapping[str, str],
    judge: Judge,
    budget: float,
    clock: Callable[[], float] = time.perf_counter,
) -> Race:
    """Check and time the contestants; `notes` are reasons for missing ones. A wrong gradc is not timed."""
    judged = {entrant.name: _judge(entrant, judge) for entrant in entrants if not entrant.yardstick}
    wrong = {who: wrong_note(error, bound) for who, (error, bound) in judged.items() if not error <= bound}
    failure = f"{GRADC} is {wrong[GRADC]}" if GRADC in wrong else ""
    right = [entrant for entrant in entrants if entrant.name not in wrong]
    timed = {} if failure else alternate(right, budget, clock=clock)

    def finish(entrant: Entrant) -> Finish:
        error = judged.get(entrant.name, (None, 0.0))[0]
        known = Finish(
            entrant.name,
            wrong.get(entrant.name, ""),
            error=error if error is None or isfinite(error) else None,
            nodes=entrant.nodes,
            yardstick=entrant.yardstick,
        )
        return with_times(known, timed)

    missing = [Finish(who, note) for who, note in notes.items()]
    return Race(name, kind, (*map(finish, entrants), *missing), failure)


def _judge(entrant: Entrant, judge: Judge) -> tuple[float, float]:
    entrant.run()
    error, bound = judge(entrant.results())
    return error, bound if entrant.name == GRADC else PEERS_SLACK * bound
