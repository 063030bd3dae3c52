"""Timing in turn, on a clock that the runs themselves advance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples

from gradc.tuning.race import FEWEST, MOST, ROUNDS, TRIALS, race


class Track:
    """Runs that take the seconds they are told, the last of them for ever."""

    def __init__(self, **seconds: list[float]):
        self.now = 0.0
        self.order: list[str] = []
        self.times = {name: chain(times, repeat(times[-1])) for name, times in seconds.items()}
        self.runs = {name: self._run(name, times) for name, times in self.times.items()}

    def clock(self) -> float:
        return self.now

    def _run(self, name: str, times: Iterator[float]) -> Callable[[], None]:
        def run() -> None:
            self.now += next(times)
            self.order.append(name)

        return run

    def race(self, **options: float) -> dict[str, float]:
        return race(self.runs, clock=self.clock, settle=self._settle, **options)

    def _settle(self) -> None:
        self.order.append("|")


@examples(60)
@given(st.dictionaries(st.text("abcdef", min_size=1), st.floats(1e-5, 10), min_size=1, max_size=5))
def test_steady_runs_have_their_times(seconds: dict[str, float]):
    track = Track(**{name: [time] for name, time in seconds.items()})
    found = track.race()
    assert set(found) == set(seconds)
    for name, time in seconds.items():
        assert found[name] == pytest.approx(time, rel=1e-4)


def test_the_first_run_is_no_sample():
    assert Track(a=[7.0, 0.1]).race()["a"] == pytest.approx(0.1)


def test_one_slow_moment_is_no_verdict():
    found = Track(a=[0.01, 0.01, 5.0, 0.01], b=[0.012]).race()
    assert found["a"] == pytest.approx(0.01)
    assert found["b"] == pytest.approx(0.012)


def test_bursts():
    """Each begins when all is quiet, with a run to wake what sleeps; long runs need none."""
    quick = Track(a=[0.002], b=[0.0025])
    quick.race()
    bursts = "".join(quick.order).split("|")[1:]
    assert bursts[:4] == ["aaa", "bbb", "bbb", "aaa"]
    assert len(bursts) == 2 * ROUNDS
    long = Track(a=[0.5])
    long.race()
    assert "".join(long.order).split("|")[1:3] == ["aa", "aa"]
    short = Track(a=[1e-5])
    short.race()
    assert {len(burst) for burst in "".join(short.order).split("|")[1:]} == {1 + MOST}


def test_what_is_clearly_slower_is_dropped():
    track = Track(fast=[0.001], slow=[0.01], close=[0.00125])
    found = track.race()
    bursts = Counter(burst[:4] for burst in "".join(track.order).split("|")[1:])
    assert bursts == {"fast": ROUNDS, "clos": ROUNDS, "slow": TRIALS}
    assert found["slow"] == pytest.approx(0.01)


def test_rounds():
    quick, slow = Track(a=[0.01]), Track(a=[5.0])
    for track in (quick, slow):
        track.race()
    assert quick.order.count("|") == ROUNDS
    assert slow.order.count("|") == FEWEST


def test_a_deadline_ends_it_but_not_before_there_are_samples():
    track = Track(a=[0.01])
    track.race(deadline=0.0)
    assert track.order.count("|") == FEWEST


def test_a_leader_that_stumbles_does_not_drop_the_rest():
    """The best of each counts: a moment of the machine is not the run."""
    track = Track(a=[0.01], b=[0.01, 0.01, 0.5, 0.5, 0.011])
    track.race()
    bursts = Counter(burst[0] for burst in "".join(track.order).split("|")[1:])
    assert bursts == {"a": ROUNDS, "b": ROUNDS}


def test_nothing_to_run():
    assert race({}) == {}
