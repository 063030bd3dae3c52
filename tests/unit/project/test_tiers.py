"""The tiers of the tests: a sweep runs whole over its turns, and each turn has every entry and function."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from support import tiers

CASES = [f"{op}-{dtype}" for op in ("Add", "Mul", "Relu") for dtype in range(10)]


@dataclass(frozen=True, eq=False)
class Item:
    nodeid: str
    marker: pytest.Mark | None

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return self.marker


def items(marker: pytest.MarkDecorator | None, cases: list[str] = CASES) -> Any:
    return [Item(f"test_a.py::test_b[{case}]", marker.mark if marker else None) for case in cases]


@pytest.fixture(autouse=True)
def turn() -> Iterator[None]:
    before = tiers.Tier.turn
    yield
    tiers.Tier.turn = before


def test_a_test_without_a_marker_runs_in_every_turn():
    every = items(None)
    assert all(tiers.quick_part(every, turn) == every for turn in range(tiers.PARTS))


@pytest.mark.parametrize("parts", [1, 4, tiers.PARTS, 100])
def test_turns_take_each_case_of_a_sweep_once(parts: int):
    every = items(pytest.mark.sweep(parts=parts))
    turns = [tiers.quick_part(every, turn) for turn in range(min(parts, len(every)))]
    assert all(turns)
    assert sorted(item.nodeid for part in turns for item in part) == sorted(item.nodeid for item in every)


def test_every_turn_has_a_case_of_each_entry():
    every = items(pytest.mark.sweep(entries=r"\w+"))
    for turn in range(20):
        ids = [item.nodeid for item in tiers.quick_part(every, turn)]
        assert all(any(f"[{op}-" in id for id in ids) for op in ("Add", "Mul", "Relu"))
        assert len(ids) <= 6


def test_functions_of_a_group_are_one_sweep():
    marker = pytest.mark.sweep(group="g", parts=3).mark
    every: Any = [Item(f"test_a.py::{name}", marker) for name in ("test_b", "test_c", "test_d")]
    assert [len(tiers.quick_part(every, turn)) for turn in range(3)] == [1, 1, 1]


def test_a_sweep_of_one_case_runs_in_every_turn():
    (only,) = items(pytest.mark.sweep, ["a"])
    assert all(tiers.quick_part([only], turn) == [only] for turn in range(20))


def test_a_loop_takes_a_part_of_its_cases():
    tiers.Tier.turn = None
    assert tiers.some(range(20)) == list(range(20))
    taken = []
    for turn in range(tiers.PARTS):
        tiers.Tier.turn = turn
        assert tiers.some("a") == ["a"]
        taken += tiers.some(iter(range(20)))
    assert sorted(taken) == list(range(20))


def test_a_part_of_a_product_has_all_values_of_its_factors():
    for turn in range(4):
        tiers.Tier.turn = turn
        part = tiers.some(itertools.product(range(13, 29), (False, True)), 4)
        assert {strict for _, strict in part} == {False, True}


@pytest.mark.parametrize("which", ["", "1", "0/3", "4/3", "a/3", "1/b"])
def test_what_is_no_slice(which: str):
    with pytest.raises(pytest.UsageError, match="expected K/N"):
        tiers.slice_of([], which)


def test_slices_take_each_test_once():
    every = items(None)
    slices = [item for index in range(1, 5) for item in tiers.slice_of(every, f"{index}/4")]
    assert sorted(item.nodeid for item in slices) == sorted(item.nodeid for item in every)
