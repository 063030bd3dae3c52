"""Timing several runs of the same work, in turn, so that a slow minute of the machine is slow for all.

The threads of a session spin for a while after a run, which makes its next run fast and another
session's slow. So runs come in bursts: one begins when the process has gone idle, and its first run,
which wakes the threads and fills the caches, is not counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median

from gradc.tuning.measure import settled

Clock = Callable[[], float]

ROUNDS, FEWEST = 8, 3
"""Bursts of each run; FEWEST will do when ENOUGH_SECONDS have passed, or the deadline has."""

ENOUGH_SECONDS = 3.0

BURST_SECONDS, LEAST, MOST = 0.005, 2, 16
"""A burst has as many timed runs as fit in so long, at least LEAST and at most MOST."""

LONG = 0.02
"""Seconds of a run from which on it needs no other before it."""

TRIALS = 2
"""Rounds before a run can be out of the race."""

OUT = 1.5
"""A run is out when its best time is this many times the median of the leader. On a busy machine the
best of four is within a few per cent of what the run can do, the median within some 20 %."""


def race(
    runs: Mapping[str, Callable[[], None]],
    deadline: float | None = None,
    *,
    clock: Clock = time.perf_counter,
    settle: Callable[[], None] = settled,
) -> dict[str, float]:
    """Median seconds of each run, by name. What is clearly slower is dropped early, with fewer samples.

    After the `deadline`, a time of the clock, FEWEST rounds will do. `settle` returns when no thread of
    this process is busy any more.
    """
    samples: dict[str, list[float]] = {name: [_timed(run, clock)] for name, run in runs.items()}
    running, rounds, began = list(runs), 0, clock()
    while running and not _is_over(rounds, clock(), began, deadline):
        for name in running:
            settle()
            burst = _burst(runs[name], min(samples[name]), clock)
            samples[name] = [*samples[name], *burst] if rounds else burst
        rounds += 1
        # every other round the other way, so that none always follows the same neighbour
        running = _contenders(running, samples, rounds)[::-1]
    return {name: median(times) for name, times in samples.items()}


def _burst(run: Callable[[], None], length: float, clock: Clock) -> list[float]:
    """Seconds of the timed runs of one burst. `length` is about what a run takes."""
    if length < LONG:
        run()
    count = min(max(int(BURST_SECONDS / max(length, 1e-9)), LEAST), MOST)
    return [_timed(run, clock) for _ in range(count)]


def _timed(run: Callable[[], None], clock: Clock) -> float:
    begin = clock()
    run()
    return clock() - begin


def _is_over(rounds: int, now: float, began: float, deadline: float | None) -> bool:
    hurried = now - began >= ENOUGH_SECONDS or (deadline is not None and now >= deadline)
    return rounds >= ROUNDS or (rounds >= FEWEST and hurried)


def _contenders(running: Sequence[str], samples: Mapping[str, list[float]], rounds: int) -> list[str]:
    if rounds < TRIALS:
        return list(running)
    leader = min(median(samples[name]) for name in running)
    return [name for name in running if min(samples[name]) <= OUT * leader]
