"""Sums over taps by blocks of columns, against loops over every element."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dialects.support import columns
from dialects.support.columns import Windows, correlate, gather, scatter

SEEDS = range(120)

Terms = list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]


class Drawn:
    """Random windows over random sizes, and integers for which every sum is exact."""

    def __init__(self, seed: int) -> None:
        chance = np.random.default_rng(seed)

        def draw(most: int, least: int = 1) -> tuple[int, ...]:
            return tuple(int(n) for n in chance.integers(least, most + 1, rank))

        rank = int(chance.integers(1, 4))
        self.sizes, self.counts = draw(6, 0 if seed % 10 == 0 else 1), draw(6)
        self.windows = Windows(draw(1 if seed % 5 == 0 else 3), draw(3), draw(3), draw(3, -2))
        batch, groups, inner, outer = (int(n) for n in chance.integers(1, 4, 4))
        self.data = chance.integers(-9, 9, (batch, groups, inner, *self.sizes)).astype(float)
        self.others = chance.integers(-9, 9, (batch, groups, outer, *self.counts)).astype(float)
        self.weights = chance.integers(-9, 9, (groups, outer, inner, *self.windows.kernel)).astype(float)
        self.terms = self._terms()

    def _terms(self) -> Terms:
        """Each tap, a position, and the element that it meets there."""
        w, found = self.windows, []
        for tap, position in itertools.product(np.ndindex(*w.kernel), np.ndindex(*self.counts)):
            axes = zip(tap, position, w.strides, w.dilations, w.begin, strict=True)
            place = tuple(y * s - b + k * d for k, y, s, d, b in axes)
            if all(0 <= x < size for x, size in zip(place, self.sizes, strict=True)):
                found.append((tap, position, place))
        return found


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(columns, "BLOCK", 2**6)
    monkeypatch.setattr(columns, "SLAB", 2**5)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", SEEDS)
def test_each_is_the_sum_of_its_terms(seed: int):
    drawn = Drawn(seed)
    data, others, weights, windows = drawn.data, drawn.others, drawn.weights, drawn.windows
    gathered, scattered, sums = np.zeros(others.shape), np.zeros(data.shape), np.zeros(weights.shape)
    for tap, position, place in drawn.terms:
        w, x, y = weights[(..., *tap)], data[(..., *place)], others[(..., *position)]
        gathered[(..., *position)] += np.einsum("goc,ngc->ngo", w, x)
        scattered[(..., *place)] += np.einsum("goc,ngo->ngc", w, y)
        sums[(..., *tap)] += np.einsum("ngc,ngo->goc", x, y)
    np.testing.assert_array_equal(gather(data, weights, windows, drawn.counts), gathered)
    np.testing.assert_array_equal(scatter(others, weights, windows, drawn.sizes), scattered)
    np.testing.assert_array_equal(correlate(data, others, windows), sums)


@pytest.mark.parametrize("special", [np.inf, np.nan])
def test_what_a_window_meets_outside_has_no_part(special: float):
    """Not even times an infinite number."""
    windows, ones = Windows((2,), (1,), (1,), (1,)), np.ones((1, 1, 1, 1))
    weights = np.array([special, 2.0]).reshape(1, 1, 1, 2)
    np.testing.assert_array_equal(gather(ones, weights, windows, (2,)).ravel(), [2, special])
    np.testing.assert_array_equal(
        correlate(ones, np.array([special, 3.0]).reshape(1, 1, 1, 2), windows).ravel(), [3, special]
    )


def test_every_block_of_columns_is_small(monkeypatch: pytest.MonkeyPatch):
    """Also along an axis that is longer than a block."""
    seen: list[int] = []
    product = np.matmul

    def matmul(rows: np.ndarray, found: np.ndarray) -> np.ndarray:
        seen.append(found.size)
        return product(rows, found)

    monkeypatch.setattr(np, "matmul", matmul)
    data, weights = np.ones((2, 1, 1, 3, 100)), np.ones((1, 2, 1, 1, 3))
    gather(data, weights, Windows((1, 3), (1, 1), (1, 1), (0, 1)), (3, 100))
    assert sum(seen) == 3 * data.size
    assert max(seen) <= 2**6
