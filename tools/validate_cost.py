"""Compare the cost model with measurements: `python -m tools.validate_cost --help`."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click
import numpy as np

from gradc.bench.random_problems import problems
from gradc.bench.suite import SUITES
from gradc.bench.suite import suite as suite_cases
from gradc.problems import Problem
from passes.cost import rates
from passes.targets.target import Target
from tools.calibration.measurements import Measurements, measure
from tools.calibration.model import CandidateModel, candidates

MAX_PRICE_RATIO = 4.0
"""Strategies predicted slower than the best by this factor are not timed."""

CLOSE = 1.1
"""Allowed time of the choice relative to the best."""


@dataclass(frozen=True)
class Case:
    """A problem with the predicted and the measured seconds of its strategies, by name."""

    problem: Problem
    predicted: dict[str, float]
    measured: dict[str, float]

    @property
    def chosen(self) -> str:
        return min(self.predicted, key=lambda name: self.predicted[name])

    @property
    def best(self) -> str:
        return min(self.measured, key=lambda name: self.measured[name])

    @property
    def loss(self) -> float:
        """Time of the chosen strategy relative to the best."""
        return self.measured[self.chosen] / self.measured[self.best]


def worth_timing(problem: Problem, target: Target) -> dict[CandidateModel, float]:
    """Return the strategies that may be best, with their predicted seconds."""
    prices = {
        model: rates.seconds(model.facts.features, target.name, target.threads)
        for model in candidates(problem, target)
    }
    least = min(prices.values())
    return {model: price for model, price in prices.items() if price <= MAX_PRICE_RATIO * least}


def cases(given: Sequence[Problem], target: Target, seconds: float, measured: Measurements) -> Iterator[Case]:
    """Yield cases until the time is over; `measured` is used and extended."""
    end = time.perf_counter() + seconds
    for problem in given:
        prices = worth_timing(problem, target)
        unknown = measured.missing(prices)
        if unknown and time.perf_counter() > end:
            return
        for model in unknown:
            measured.seconds[model.label] = measure(model, target.threads)
        yield Case(
            problem,
            {model.kind: price for model, price in prices.items()},
            {model.kind: measured.seconds[model.label] for model in prices},
        )


def of_suite(name: str) -> list[Problem]:
    given = (case.problem for case in suite_cases(name))
    return [p for p in given if p.dtype == "f32" and not {"?", None} & set(p.diff_dst)]


def show(case: Case) -> str:
    parts = (
        f"{name} {1e3 * case.measured[name]:.3f} ({1e3 * price:.3f})"
        for name, price in sorted(case.predicted.items(), key=lambda entry: case.measured[entry[0]])
    )
    return f"{case.loss:.2f} {case.problem}\n     {', '.join(parts)}"


@click.command()
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True)
@click.option("--seed", default=2, show_default=True, help="The rates were fitted to seed 1.")
@click.option("--count", default=100, show_default=True, help="Number of random problems.")
@click.option("--suite", type=click.Choice(SUITES), help="Use the f32 problems of a suite instead.")
@click.option("--seconds", default=600.0, show_default=True, help="Stop measuring after this time.")
@click.option("--keep", type=click.Path(dir_okay=False), help="Store and reuse measurements in this file.")
def main(threads: int, seed: int, count: int, suite: str | None, seconds: float, keep: str | None) -> None:
    """Time every strategy on random problems; print where and how often the choice is wrong."""
    target = Target("cpu", threads=threads)
    measured = Measurements.read(keep) if keep else Measurements()
    given = list(problems(seed, count)) if suite is None else of_suite(suite)
    found = list(cases(given, target, seconds, measured))
    if keep:
        measured.write(keep)
    if not found:
        raise click.ClickException("no time for a single problem")
    for case in sorted((case for case in found if case.loss > CLOSE), key=lambda case: case.loss):
        click.echo(show(case))
    losses = [case.loss for case in found]
    close = np.mean([loss <= CLOSE for loss in losses])
    errors = [abs(math.log(c.predicted[name] / c.measured[name])) for c in found for name in c.predicted]
    click.echo(
        f"{len(found)} problems, {threads} threads: the choice is within 10 % of the best on {close:.0%}; "
        f"geometric mean loss {math.exp(np.mean(np.log(losses))):.3f}, worst {max(losses):.2f}; "
        f"prices are off by {math.exp(np.median(errors)) - 1:.0%} in the median"
    )


if __name__ == "__main__":
    main()
