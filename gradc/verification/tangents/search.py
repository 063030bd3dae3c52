"""Search for a step at which the finite differences of each element of a result agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.verification.tangents.estimates import Estimate
from gradc.verification.tangents.tangent import Array, Tangent, with_open_elements

PART = 2**15
"""Elements per block, which fits in cache."""

TARGET = 1e-7
"""Relative error at which an element needs no further steps."""

FLOOR = 3e-8
"""Error of an element, relative to the mean magnitude of all, at which it needs no further steps."""

Estimator = Callable[[Any], Estimate]
"""Returns the estimates of the elements at a slice or at a vector of indices."""


class Search:
    """Derivatives of the elements of one result, as a vector. The first estimator estimates all elements,
    each further one those that are still undecided."""

    def __init__(self, count: int):
        self._count, self._floor, self._left = count, 0.0, np.empty(0, np.intp)
        self._found = self._noise = np.empty(0)
        self._best: Estimate | None = None
        self.is_started = False

    @property
    def needs_more(self) -> bool:
        return not self.is_started or bool(self._left.size)

    def step(self, estimator: Estimator) -> None:
        if not self.is_started:
            self._start(estimator)
        elif self._left.size:
            again = np.flatnonzero(_has_large_error(self._best_left, self._floor))
            if again.size:
                self._best_left.improve(estimator(self._left[again]), again)
            if again.size == 0 or not _has_large_error(self._best_left, self._floor).any():
                self._finish()

    @property
    def _best_left(self) -> Estimate:
        assert self._best is not None
        return self._best

    def _start(self, estimator: Estimator) -> None:
        self._found, self._noise = np.empty(self._count), np.empty(self._count)
        total, left, parts = 0.0, list[Array](), list[Estimate]()
        for start in range(0, self._count, PART):
            part = slice(start, min(start + PART, self._count))
            one = estimator(part)
            self._found[part], self._noise[part] = one.found, one.error()
            total += _magnitude(one.slope)
            floor = FLOOR * total / part.stop
            shows = np.flatnonzero(_has_large_error(one, floor))
            if shows.size:
                left.append(shows + start)
                parts.append(one.taken(shows))
        self.is_started, self._floor = True, FLOOR * total / max(self._count, 1)
        if left:
            self._left = np.concatenate(left)
            names = ("found", "rounding", "disagreement", "slope")
            self._best = Estimate(*(np.concatenate([getattr(p, name) for p in parts]) for name in names))

    def _finish(self) -> None:
        """Store the estimates of the remaining elements."""
        self._found[self._left], self._noise[self._left] = self._best_left.found, self._best_left.error()
        self._left = self._left[:0]

    def tangent(
        self,
        shape: tuple[int, ...],
        one_sided: Callable[[Array], tuple[Array, Array]],
        lost: Array | None = None,
    ) -> Tangent:
        """Return the result; `one_sided` returns bounds of the derivatives at undecided elements, `lost` are
        elements without a known derivative."""
        at = self._left
        if at.size:
            undecided = self._best_left.is_undecided(self._floor)
            self._finish()
            at = at[undecided]
        found, noise = self._found.reshape(shape), self._noise.reshape(shape)
        if not at.size and lost is None:
            return Tangent(found, noise)
        low, high, unknown = self._found.copy(), self._found.copy(), np.zeros(self._count, bool)
        if at.size:
            low[at], high[at] = one_sided(at)
            unknown[at] = True
        if lost is not None:
            lost = lost.reshape(-1)
            low[lost], high[lost], unknown = -np.inf, np.inf, unknown | lost
        return with_open_elements(found, noise, *(each.reshape(shape) for each in (unknown, low, high)))


def _has_large_error(estimate: Estimate, floor: float) -> Array:
    """Return the mask of elements that are not finite or whose error is too large."""
    return ~(estimate.error() <= TARGET * np.abs(estimate.found) + floor)


def _magnitude(slope: Array) -> float:
    sizes = np.abs(slope)
    total = float(sizes.sum())
    return total if np.isfinite(total) else float(sizes[np.isfinite(sizes)].sum())
