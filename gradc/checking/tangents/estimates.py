"""Estimates of a derivative from values on both sides of a point, with what tells them from wrong ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gradc.checking.tangents.tangent import EPS, Array

RATIO = 4.0
"""Of the two steps of a smooth function."""

ROUNDING = 4 * EPS
"""Relative error of a kernel's value."""

TARGET = 1e-7
"""Relative error at which an element needs no further steps."""

FLOOR = 1e-9
"""Error of an element, over the mean magnitude of all, that needs no further steps."""

KINK = 1e-4
"""Relative disagreement of the steps or sides of an element from which on it is undecided."""


@dataclass(frozen=True)
class Sides:
    """Values of a function at a step to both sides of a point, and the widths of these steps."""

    ahead: Array
    behind: Array
    right: Array | float
    left: Array | float

    def central(self) -> Array:
        return (self.ahead - self.behind) / (self.right + self.left)

    def apart(self, value: Array) -> Array:
        """The difference of the one-sided slopes."""
        return np.abs((self.ahead - value) / self.right - (value - self.behind) / self.left)

    def rounding(self, value: Array) -> Array:
        """A bound of what roundings of the values make of a slope."""
        return ROUNDING * (np.abs(value) + np.abs(self.ahead)) / np.abs(self.right)


@dataclass
class Estimate:
    """A derivative with two parts of its error: by roundings, and by what the steps disagree in."""

    found: Array
    rounding: Array
    disagreement: Array

    def __post_init__(self) -> None:
        self.found, self.rounding = np.asarray(self.found), np.asarray(self.rounding)
        self.disagreement = np.asarray(self.disagreement)

    def error(self) -> Array:
        return self.rounding + self.disagreement

    def taken(self, chosen: Array) -> Estimate:
        return Estimate(self.found[chosen], self.rounding[chosen], self.disagreement[chosen])

    def needs_more(self, weight: Array | float, floor: float) -> Array:
        """The elements whose error, times the weight, shows; also those that are not finite."""
        return ~(self.error() * weight <= TARGET * np.abs(self.found * weight) + floor)

    def is_undecided(self, floor: Array | float) -> Array:
        bound = KINK * np.abs(self.found) + 4 * self.rounding + floor
        return ~(self.disagreement <= bound)


def straight(value: Array, near: Sides) -> Estimate:
    """The slope of a function of straight pieces, which holds where both sides have it."""
    return _unchanged(Estimate(near.central(), near.rounding(value), near.apart(value)), value, near)


def smooth(value: Array, far: Sides, near: Sides, ratio: float = RATIO) -> Estimate:
    """The slope by Richardson's extrapolation, with its correction for an error. The difference of the sides
    shrinks with the step where the function is smooth; at a kink, or by roundings, it does not."""
    coarse, fine = far.central(), near.central()
    change = fine - coarse
    kink = np.asarray(near.apart(value) - (2 / ratio) * far.apart(value))
    rounding = near.rounding(value)
    kink[kink <= 4 * rounding] = 0.0
    disagreement = np.abs(change) / (ratio * ratio) + kink
    found = fine + change / (ratio * ratio - 1)
    return _unchanged(Estimate(found, rounding, disagreement), value, near)


def _unchanged(estimate: Estimate, value: Array, near: Sides) -> Estimate:
    """With 0 where a finite value does not change, also at infinite operands, unless no step was made."""
    if np.isfinite(estimate.disagreement).all() and np.isfinite(estimate.found).all():
        return estimate
    still = (near.ahead == near.behind) & (near.ahead == value) & np.isfinite(value) & (near.right != 0)
    for part in (estimate.found, estimate.rounding, estimate.disagreement):
        np.copyto(part, 0.0, where=still & ~np.isfinite(part))
    bad = ~np.isfinite(estimate.found)
    np.copyto(estimate.disagreement, np.inf, where=bad | np.isnan(estimate.disagreement))
    return estimate


def improve(best: Estimate, other: Estimate, chosen: Array) -> None:
    """Take the elements of another estimate, at the indices `chosen`, whose error is smaller."""
    better = ~(best.taken(chosen).error() <= other.error()) & np.isfinite(other.found)
    at = chosen[better]
    best.found[at], best.rounding[at] = other.found[better], other.rounding[better]
    best.disagreement[at] = other.disagreement[better]


def one_sided(value: Array, near: Sides, nearer: Sides) -> tuple[Array, Array]:
    """The smaller and the larger one-sided derivative; infinite where the two steps disagree in one."""
    right = [(s.ahead - value) / s.right for s in (near, nearer)]
    left = [(value - s.behind) / s.left for s in (near, nearer)]
    bound = 8 * (near.rounding(value) + nearer.rounding(value))
    known = np.ones(value.shape, bool)
    for first, second in (right, left):
        known &= np.abs(first - second) <= KINK * np.maximum(np.abs(first), np.abs(second)) + bound
    low = np.minimum(right[1], left[1]) - bound
    high = np.maximum(right[1], left[1]) + bound
    return np.where(known, low, -np.inf), np.where(known, high, np.inf)
