"""Timing in turn, on a clock of the test's own: nothing here depends on how fast anything is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradc.tuning import measure
from gradc.tuning.measure import LEAST, LONG, MOST, ROUNDS, Samples, alternate, quartiles


@dataclass
class World:
    """A clock, and contestants that move it; `log` has a name per run, and '' for each settling."""

    now: float = 0.0
    log: list[str] = field(default_factory=list)

    def clock(self) -> float:
        return self.now

    def settle(self) -> None:
        self.log.append("")
        self.now += 100

    def contestant(self, name: str, seconds: Callable[[int], float]) -> Contestant:
        return Contestant(self, name, seconds)


@dataclass
class Contestant:
    world: World
    name: str
    seconds: Callable[[int], float]
    runs: int = 0

    def run(self) -> None:
        self.world.now += self.seconds(self.runs)
        self.world.log.append(self.name)
        self.runs += 1


def bursts(world: World) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for name in world.log:
        if name:
            found[-1].append(name)
        else:
            found.append([])
    return found[1:]


def test_contestants_take_turns_and_each_begins_a_round():
    world = World()
    three = [world.contestant(name, lambda _: LONG * 2) for name in "abc"]
    found = alternate(three, 0, clock=world.clock, settle=world.settle)
    order = ["".join(dict.fromkeys(burst)) for burst in bursts(world)]
    rounds = ["".join(order[i : i + 3]) for i in range(0, len(order), 3)]
    assert rounds == ["abc", "bca", "cab", "abc", "bca", "cab", "abc", "bca"][:ROUNDS]
    assert all(len(set(burst)) == 1 for burst in bursts(world))
    assert {samples.count for samples in found.values()} == {LEAST * ROUNDS}
    assert LEAST * ROUNDS >= 15


def test_the_first_run_of_a_burst_is_not_counted():
    """It is slow here, as it is where threads sleep; so is the first run of all."""
    world = World()
    slow = iter([1e-3 * (5 if run == 0 else 1) for run in range(4)])

    def seconds(_: int) -> float:
        burst = bursts(world)
        if not burst:
            return next(slow)
        return 1e-3 if burst[-1] else 5e-3

    found = alternate([world.contestant("a", seconds)], 0, clock=world.clock, settle=world.settle)
    assert found["a"].median == pytest.approx(1e-3)
    assert max(max(burst) for burst in found["a"].bursts) == pytest.approx(1e-3)


@pytest.mark.parametrize(
    ("budget", "count"), [(0, LEAST), (ROUNDS * 5e-3, 5), (ROUNDS * 5e-3 * 0.99, 4), (100, MOST)]
)
def test_the_budget_buys_runs(budget: float, count: int):
    world = World()
    one = world.contestant("a", lambda _: 1.0 / 1024)
    found = alternate([one], budget * 1000 / 1024, clock=world.clock, settle=world.settle)
    assert {len(burst) for burst in found["a"].bursts} == {count}


@given(st.lists(st.floats(1e-4, 1), min_size=2, max_size=4))
def test_medians_and_ratios_are_those_of_the_contestants(lengths: list[float]):
    world = World()
    contestants = [world.contestant(str(i), lambda _, s=s: s) for i, s in enumerate(lengths)]
    found = alternate(contestants, 0, clock=world.clock, settle=world.settle)
    for index, length in enumerate(lengths):
        assert found[str(index)].median == pytest.approx(length, rel=1e-6)
        ratios = found["0"].ratios(found[str(index)])
        assert len(ratios) == ROUNDS
        assert median(ratios) == pytest.approx(length / lengths[0], rel=1e-6)


def test_a_disturbance_shows_in_the_spread_and_not_in_the_ratio():
    ours = Samples(((1.0, 1.0), (9.0, 9.0), (1.0, 1.0), (1.0, 1.0)))
    theirs = Samples(((2.0, 2.0), (2.0, 2.0), (2.0, 3.0), (2.0, 2.0)))
    ratios = ours.ratios(theirs)
    assert ratios == [2, 2 / 9, 2.5, 2]
    assert median(ratios) == 2
    low, high = quartiles(ratios)
    assert low < 2 < high
    assert quartiles([3.0]) == (3.0, 3.0)


@pytest.mark.parametrize("busy_windows", [0, 1, 5, 1000])
def test_settled_waits_for_the_process_to_go_idle(monkeypatch, busy_windows: int):
    """A spinning thread takes as much CPU time as wall time; it is waited for, but not for ever."""
    state = {"wall": 0.0, "cpu": 0.0, "windows": 0}

    def sleep(seconds: float) -> None:
        state["wall"] += seconds
        state["cpu"] += seconds if state["windows"] < busy_windows else seconds / 100
        state["windows"] += 1

    monkeypatch.setattr(measure.time, "sleep", sleep)
    monkeypatch.setattr(measure.time, "perf_counter", lambda: state["wall"])
    monkeypatch.setattr(measure.time, "process_time", lambda: state["cpu"])
    measure.wait_until_idle()
    limit = measure.IDLE_LIMIT / measure.IDLE_WINDOW + 1
    assert state["windows"] == pytest.approx(min(busy_windows + 1, limit), abs=1)
