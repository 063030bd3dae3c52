"""Alternating timing of several runs of the same work, which drops slow ones early.

The threads of a session spin after a run, which speeds up its next run and slows down another session. So
runs come in bursts: one begins when the process is idle, and its first run, which wakes threads and fills
caches, does not count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median

from gradc.tuning.measure import wait_until_idle

Clock = Callable[[], float]

ROUNDS, FEWEST = 8, 3
"""Bursts of each run; FEWEST suffice after ENOUGH_SECONDS or the deadline."""

ENOUGH_SECONDS = 3.0

BURST_SECONDS, LEAST, MOST = 0.005, 2, 16
"""Seconds of timed runs in a burst, and their minimum and maximum number."""

LONG = 0.02
"""Seconds of a run that needs no warm-up run."""

TRIALS = 2
"""Rounds before a run can be dropped."""

DROP_FACTOR = 1.5
"""A run is dropped when its best time is this many times the leader's median. On a busy machine the best of
four is within a few per cent of the optimum, the median within about 20 %."""


def race(
    runs: Mapping[str, Callable[[], None]],
    deadline: float | None = None,
    *,
    clock: Clock = time.perf_counter,
    settle: Callable[[], None] = wait_until_idle,
) -> dict[str, float]:
    """Return the median seconds of each run, by name; clearly slower ones are dropped, with fewer samples.
    After the `deadline`, a time of the clock, FEWEST rounds suffice. `settle` returns when no thread of this
    process is busy.
    """
    samples: dict[str, list[float]] = {name: [_time(run, clock)] for name, run in runs.items()}
    running, rounds, began = list(runs), 0, clock()
    while running and not _is_over(rounds, clock(), began, deadline):
        for name in running:
            settle()
            burst = _burst(runs[name], min(samples[name]), clock)
            samples[name] = [*samples[name], *burst] if rounds else burst
        rounds += 1
        # reverse every other round, so that no run always follows the same one
        running = _contenders(running, samples, rounds)[::-1]
    return {name: median(times) for name, times in samples.items()}


def _burst(run: Callable[[], None], length: float, clock: Clock) -> list[float]:
    """Return the seconds of the timed runs of one burst; `length` estimates one run."""
    if length < LONG:
        run()
    count = min(max(int(BURST_SECONDS / max(length, 1e-9)), LEAST), MOST)
    return [_time(run, clock) for _ in range(count)]


def _time(run: Callable[[], None], clock: Clock) -> float:
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
    return [name for name in running if min(samples[name]) <= DROP_FACTOR * leader]
