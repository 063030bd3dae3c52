"""Timing contestants in turn, so that what the machine does meanwhile meets them all.

Every library has its own threads, and after a call they wait for the next one by spinning, for up to
30 ms: that is part of how each is fast, and nothing is set to change it. But on the cores of the next
contestant they would cost it half its speed. So a burst of runs of one contestant begins when the
process has gone idle, and its first run, which wakes the threads and fills the caches, is not counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Protocol

ROUNDS = 8
LEAST, MOST = 2, 12
"""Timed runs in a burst: with ROUNDS bursts, 16 are the least that a median is taken of."""

LONG = 0.02
"""Seconds of a run from which on it needs no other before it."""

IDLE_WINDOW, IDLE_SHARE, IDLE_LIMIT = 0.006, 0.2, 0.2
"""Idle is less than a share of one core in a window (above the 4 ms in which Linux counts CPU time)."""


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
        """How many times as long `other` took, burst by burst of one round."""
        pairs = zip(self.bursts, other.bursts, strict=True)
        return [median(theirs) / median(ours) for ours, theirs in pairs]


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    """The first and the third."""
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
    """Samples of each contestant, by name, in about `budget` seconds for each.

    The budget buys runs beyond the least number, it does not take away from that.
    """
    settle = settle or settled
    lengths = {c.name: _warmed_up(c, clock) for c in contestants}
    found: dict[str, list[tuple[float, ...]]] = {c.name: [] for c in contestants}
    for round_ in range(ROUNDS):
        first = round_ % len(contestants)
        for contestant in (*contestants[first:], *contestants[:first]):
            settle()
            length = lengths[contestant.name]
            if length < LONG:
                contestant.run()
            count = min(max(int(budget / ROUNDS / max(length, 1e-9)), LEAST), MOST)
            found[contestant.name].append(tuple(_timed(contestant, clock) for _ in range(count)))
    return {name: Samples(tuple(bursts)) for name, bursts in found.items()}


def _warmed_up(contestant: Runnable, clock: Callable[[], float]) -> float:
    """Seconds of a run, after the first ones, which prepare what is kept."""
    first = _timed(contestant, clock)
    return min(_timed(contestant, clock) for _ in range(1 if first > LONG else 3))


def _timed(contestant: Runnable, clock: Callable[[], float]) -> float:
    begin = clock()
    contestant.run()
    return clock() - begin


def settled() -> None:
    """Return when the threads of this process have stopped spinning, or after IDLE_LIMIT seconds."""
    end = time.perf_counter() + IDLE_LIMIT
    while time.perf_counter() < end:
        before, start = time.process_time(), time.perf_counter()
        time.sleep(IDLE_WINDOW)
        if time.process_time() - before < IDLE_SHARE * (time.perf_counter() - start):
            return
