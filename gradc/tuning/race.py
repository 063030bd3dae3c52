"""Timing several runs of the same work, in turn, so that a slow minute of the machine is slow for all."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median

Clock = Callable[[], float]

TRIALS = 3
"""Rounds before a run can be out of the race."""

OUT = 1.6
"""A run is out when its best time is this many times the median of the leader. On a busy machine the
best of three is within a few per cent of what the run can do, the median within some 20 %."""

ROUNDS, FEWEST, MOST = 15, 5, 300
LEAST_SECONDS, ENOUGH_SECONDS = 0.2, 3.0
"""A race has ROUNDS rounds, and more until LEAST_SECONDS have passed, at most MOST; when ENOUGH_SECONDS
have passed, FEWEST will do."""


def race(
    runs: Mapping[str, Callable[[], None]], clock: Clock = time.perf_counter, deadline: float | None = None
) -> dict[str, float]:
    """Median seconds of each run, by name. What is clearly slower is dropped early, with fewer samples.

    After the `deadline`, a time of the clock, FEWEST rounds will do.
    """
    samples: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run()
    running, rounds, began = list(runs), 0, clock()
    while running and not _is_over(rounds, clock(), began, deadline):
        for name in running:
            start = clock()
            runs[name]()
            samples[name].append(clock() - start)
        rounds += 1
        # every other round the other way, so that none always follows the same neighbour
        running = _contenders(running, samples, rounds)[::-1]
    return {name: median(times) for name, times in samples.items()}


def _is_over(rounds: int, now: float, began: float, deadline: float | None) -> bool:
    spent = now - began
    if rounds >= MOST or (rounds >= ROUNDS and spent >= LEAST_SECONDS):
        return True
    hurried = spent >= ENOUGH_SECONDS or (deadline is not None and now >= deadline)
    return rounds >= FEWEST and hurried


def _contenders(running: Sequence[str], samples: Mapping[str, list[float]], rounds: int) -> list[str]:
    if rounds < TRIALS:
        return list(running)
    leader = min(median(samples[name]) for name in running)
    return [name for name in running if min(samples[name]) <= OUT * leader]
