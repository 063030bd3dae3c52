"""One case of whole models: every entrant is held against what is expected, then all take turns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from statistics import median
from typing import Any

import numpy as np

from gradc.bench.run import GRADC
from gradc.tuning.measure import alternate, quartiles

PEERS_SLACK = 8
"""How many times gradc's bound others may be off."""

Results = Mapping[str, Any]
"""What a run gives, by the names that gradc's model has for it."""

Judge = Callable[[Results], tuple[float, float]]
"""The worst error of the results and its bound, both over the largest magnitude of a result."""


@dataclass(frozen=True, eq=False)
class Entrant:
    """One way to compute the results, with its inputs in place. `nodes` are those of its ONNX model.

    A `yardstick` computes something else, such as the forward of a gradient: its values are not judged.
    """

    name: str
    run: Callable[[], object]
    results: Callable[[], Results]
    nodes: int | None = None
    yardstick: bool = False


@dataclass(frozen=True)
class Finish:
    """What became of an entrant; `note` says why it was not timed.

    `seconds` is the median run. `ratio` is how many times as long as gradc's it took, the median over the
    bursts of `spread`'s quartiles.
    """

    name: str
    note: str = ""
    nodes: int | None = None
    yardstick: bool = False
    seconds: float | None = None
    ratio: float | None = None
    spread: tuple[float, float] | None = None
    error: float | None = None


@dataclass(frozen=True)
class Race:
    """The finishes of one case, gradc's first; `kind` is what was computed of the model."""

    name: str
    kind: str
    finishes: tuple[Finish, ...]
    failure: str = ""

    @property
    def gradc(self) -> Finish:
        return self.finishes[0]


def within(expected: Results, bound: float) -> Judge:
    """Every result within `bound` of its largest magnitude."""

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
) -> Race:
    """`notes` says of those that do not start why. Nothing is timed where gradc is wrong."""
    judged = {entrant.name: _judged(entrant, judge) for entrant in entrants if not entrant.yardstick}
    wrong = {
        who: f"wrong: off by {error:.2g} of the largest magnitude, bound {bound:.2g}"
        for who, (error, bound) in judged.items()
        if not error <= bound
    }
    failure = f"{GRADC} is {wrong[GRADC]}" if GRADC in wrong else ""
    right = [entrant for entrant in entrants if entrant.name not in wrong]
    timed = {} if failure else alternate(right, budget)

    def finish(entrant: Entrant) -> Finish:
        error = judged.get(entrant.name, (None, 0.0))[0]
        known = Finish(
            entrant.name,
            wrong.get(entrant.name, ""),
            entrant.nodes,
            entrant.yardstick,
            error=error if error is None or isfinite(error) else None,
        )
        if entrant.name not in timed:
            return known
        samples, ratios = timed[entrant.name], timed[GRADC].ratios(timed[entrant.name])
        measured = {"seconds": samples.median, "ratio": median(ratios), "spread": quartiles(ratios)}
        return Finish(**{**vars(known), **measured})

    missing = [Finish(who, note) for who, note in notes.items()]
    return Race(name, kind, (*map(finish, entrants), *missing), failure)


def _judged(entrant: Entrant, judge: Judge) -> tuple[float, float]:
    entrant.run()
    error, bound = judge(entrant.results())
    return error, bound if entrant.name == GRADC else PEERS_SLACK * bound
