"""Alternating timing of contestants, so that disturbances of the machine affect all of them.

After a call, the threads of a library spin for up to 30 ms, waiting for the next call. That is part of its
speed and stays enabled, but it would halve the speed of the next contestant. So a burst of runs begins when
the process is idle, and its first run, which wakes threads and fills caches, does not count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Protocol

ROUNDS = 8
LEAST, MOST = 2, 12
"""Timed runs in a burst; with ROUNDS bursts, a median is of at least 16."""

LONG = 0.02
"""Seconds of a run that needs no warm-up run."""

IDLE_WINDOW, IDLE_SHARE, IDLE_LIMIT = 0.006, 0.2, 0.2
"""Idle: less than a share of one core in a window (longer than Linux's 4 ms accounting of CPU time)."""


class Runnable(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def run(self) -> Callable[[], object]: ...


@dataclass(frozen=True)
class Samples:
    """Seconds of the timed runs, by burst."""

    bursts: tuple[tuple[float, ...], ...]

    @property
    def count(self) -> int:
        return sum(map(len, self.bursts))

    @property
    def median(self) -> float:
        return median(seconds for burst in self.bursts for seconds in burst)

    def ratios(self, other: Samples) -> list[float]:
        """Return the ratio of `other`'s times to these, per round."""
        pairs = zip(self.bursts, other.bursts, strict=True)
        return [median(theirs) / median(ours) for ours, theirs in pairs]


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    """Return the first and the third quartile."""
    if len(values) < 2:
        return (values[0], values[0])
    first, _, third = quantiles(values, n=4, method="inclusive")
    return first, third


def alternate(
    contestants: Sequence[Runnable],
    budget: float,
    *,
    clock: Callable[[], float] = time.perf_counter,
    settle: Callable[[], None] | None = None,
) -> dict[str, Samples]:
    """Time each contestant for about `budget` seconds; return the samples by name.

    The minimum number of runs is always made, whatever the budget.
    """
    settle = settle or wait_until_idle
    lengths = {c.name: _warm_up(c, clock) for c in contestants}
    found: dict[str, list[tuple[float, ...]]] = {c.name: [] for c in contestants}
    for round_ in range(ROUNDS):
        first = round_ % len(contestants)
        for contestant in (*contestants[first:], *contestants[:first]):
            settle()
            length = lengths[contestant.name]
            if length < LONG:
                contestant.run()
            count = min(max(int(budget / ROUNDS / max(length, 1e-9)), LEAST), MOST)
            found[contestant.name].append(tuple(_time(contestant, clock) for _ in range(count)))
    return {name: Samples(tuple(bursts)) for name, bursts in found.items()}


def _warm_up(contestant: Runnable, clock: Callable[[], float]) -> float:
    """Return the seconds of a run, after warm-up runs."""
    first = _time(contestant, clock)
    return min(_time(contestant, clock) for _ in range(1 if first > LONG else 3))


def _time(contestant: Runnable, clock: Callable[[], float]) -> float:
    begin = clock()
    contestant.run()
    return clock() - begin


def wait_until_idle() -> None:
    """Wait until the threads of this process have stopped spinning, at most IDLE_LIMIT seconds."""
    end = time.perf_counter() + IDLE_LIMIT
    while time.perf_counter() < end:
        before, start = time.process_time(), time.perf_counter()
        time.sleep(IDLE_WINDOW)
        if time.process_time() - before < IDLE_SHARE * (time.perf_counter() - start):
            return
