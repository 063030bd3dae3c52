"""The least sum of tables, against all combinations; and that it takes no more than networks' shapes need."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from support.examples import EXAMPLES

from passes.layout import elimination
from passes.layout.elimination import Scope, least

Tables = list[tuple[Scope, np.ndarray]]


def total(tables: Tables, values: list[int]) -> float:
    return sum(float(table[tuple(values[v] for v in scope)]) for scope, table in tables)


def drawn(rng: np.random.Generator) -> tuple[list[int], Tables]:
    sizes = [int(size) for size in rng.integers(1, 4, rng.integers(1, 7))]
    tables: Tables = []
    for _ in range(rng.integers(0, 9)):
        scope = tuple(sorted(rng.permutation(len(sizes))[: rng.integers(1, 4)].tolist()))
        tables.append((scope, rng.integers(0, 9, [sizes[v] for v in scope]).astype(float)))
    return sizes, tables


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(60 * EXAMPLES))
def test_no_combination_is_less(seed: int):
    sizes, tables = drawn(np.random.default_rng(seed))
    found = least(sizes, tables)
    assert len(found) == len(sizes)
    assert all(0 <= value < size for value, size in zip(found, sizes, strict=True))
    every = (total(tables, list(values)) for values in product(*map(range, sizes)))
    assert total(tables, found) == min(every)


def test_infinite_entries_are_avoided():
    apart = np.array([[np.inf, 0.0], [0.0, np.inf]])
    tables: Tables = [((0, 1), apart), ((1, 2), apart), ((0,), np.array([5.0, 0.0]))]
    assert least([2, 2, 2], tables) == [1, 0, 1]


def test_a_dense_problem_takes_a_bounded_table(monkeypatch: pytest.MonkeyPatch):
    """All share tables with all: some keep their first value, and the rest is still the best beside these."""
    monkeypatch.setattr(elimination, "MOST_ENTRIES", 8)
    rng = np.random.default_rng(0)
    tables: Tables = [((a, b), rng.random((2, 2))) for a in range(12) for b in range(a + 1, 12)]
    found = least([2] * 12, tables)
    assert total(tables, found) <= total(tables, [0] * 12)


def ladder(count: int) -> Tables:
    """What the gradient of a network looks like: two chains with rungs between them."""
    rng = np.random.default_rng(1)
    pairs = [(i, i + 2) for i in range(2 * count - 2)] + [(2 * i, 2 * i + 1) for i in range(count)]
    return [(pair, rng.random((2, 2))) for pair in pairs]


def u_shape(count: int) -> Tables:
    """A chain whose ends are joined pair by pair, from outside in."""
    rng = np.random.default_rng(2)
    pairs = [(i, i + 1) for i in range(count - 1)] + [(i, count - 1 - i) for i in range(count // 2 - 1)]
    return [(pair, rng.random((2, 2))) for pair in pairs]


@pytest.mark.parametrize(("build", "most"), [(ladder, 8), (u_shape, 256)])
def test_tables_stay_small(build, most: int, monkeypatch: pytest.MonkeyPatch):
    """So the time is linear: tables do not grow with the number of variables, or with its logarithm."""
    seen: list[int] = []
    eliminate = elimination._Problem._eliminate

    def watched(problem, variable):
        scope, table = eliminate(problem, variable)
        seen.append(table.size)
        return scope, table

    monkeypatch.setattr(elimination._Problem, "_eliminate", watched)
    tables = build(2000)
    least([2] * (1 + max(max(scope) for scope, _ in tables)), tables)
    assert max(seen) <= most
    assert len(seen) == 1 + max(max(scope) for scope, _ in tables)
