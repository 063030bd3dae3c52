"""Estimates of a derivative from values on both sides of a point, with what tells them from wrong ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gradc.checking.tangents.tangent import Array

ROUNDING = 8 * float(np.finfo(np.float64).eps)
"""Relative error of the difference of two values of a kernel."""

KINK = 1e-4
"""Relative disagreement of the steps or sides of an element from which on it is undecided."""


@dataclass(frozen=True)
class Sides:
    """Values of a function at a point and at a step to both sides, with the signed widths of the steps."""

    value: Array
    ahead: Array
    behind: Array
    right: Array | float
    left: Array | float

    @cached_property
    def slopes(self) -> tuple[Array, Array]:
        return (self.ahead - self.value) / self.right, (self.value - self.behind) / self.left

    def central(self) -> Array:
        first, second = self.slopes
        return (first + second) * 0.5

    def apart(self) -> Array:
        """The difference of the one-sided slopes."""
        return np.abs(np.subtract(*self.slopes))

    def rounding(self) -> Array:
        """A bound of what roundings of the values make of a slope."""
        return ROUNDING * np.abs(self.value / self.right)

    def stays(self) -> Array:
        """The elements whose finite value is the same on both sides, at infinite operands, too."""
        same = (self.ahead == self.value) & (self.behind == self.value) & np.isfinite(self.value)
        return same & (np.asarray(self.right) != 0)


@dataclass
class Estimate:
    """A derivative with two parts of its error: by roundings, and by what the steps disagree in. `slope` is
    a one-sided derivative, whose size is a scale for the errors even where the derivative is near 0."""

    found: Array
    rounding: Array
    disagreement: Array
    slope: Array

    def error(self) -> Array:
        return self.rounding + self.disagreement

    def weighted(self, weight: Array) -> Estimate:
        """The estimate times a factor; 0 times infinity is 0."""
        size = np.abs(weight)
        parts = (self.found * weight, self.rounding * size, self.disagreement * size, self.slope * weight)
        if not np.isfinite(np.sum(parts[2])):
            parts = tuple(np.where((weight == 0) & ~np.isfinite(part), 0.0, part) for part in parts)
        return Estimate(*parts)

    def taken(self, chosen: Array) -> Estimate:
        parts = (self.found, self.rounding, self.disagreement, self.slope)
        return Estimate(*(part[chosen] for part in parts))

    def improve(self, other: Estimate, chosen: Array) -> None:
        """Take those elements of another estimate, of the elements `chosen` alone, whose error is smaller."""
        better = ~(self.error()[chosen] <= other.error()) & np.isfinite(other.found)
        at = chosen[better]
        self.found[at], self.rounding[at] = other.found[better], other.rounding[better]
        self.disagreement[at] = other.disagreement[better]

    def is_undecided(self, floor: float) -> Array:
        bound = KINK * np.abs(self.found) + 4 * self.rounding + floor
        return ~((self.disagreement <= bound) & np.isfinite(self.found))


def straight(near: Sides) -> Estimate:
    """The slope of a function of straight pieces, which holds where both sides have it."""
    return _finite(Estimate(near.central(), near.rounding(), near.apart(), near.slopes[0]), near)


def stepwise(near: Sides) -> Estimate:
    """The slope of a function that is constant between jumps, one of which may be at the point."""
    zeros = np.zeros(near.value.shape)
    return Estimate(zeros, zeros, np.where(near.stays(), 0.0, np.inf), zeros)


def smooth(far: Sides, near: Sides, ratio: float) -> Estimate:
    """The slope by Richardson's extrapolation. The error is the change between the two steps as if it were of
    first order in the step, as where the second derivative jumps. The difference of the sides shrinks with
    the step where the function is smooth; at a kink, or by roundings, it does not."""
    fine, rounding = near.central(), near.rounding()
    change = fine - far.central()
    kink = near.apart() - (2 / ratio) * far.apart()
    np.copyto(kink, 0.0, where=kink <= rounding)
    found, disagreement = fine + change / (ratio * ratio - 1), np.abs(change) / (ratio - 1) + kink
    return _finite(Estimate(found, rounding, disagreement, far.slopes[0]), near)


def _finite(estimate: Estimate, near: Sides) -> Estimate:
    """With 0 for what does not change, and an infinite error for what is no number."""
    if np.isfinite(np.sum(estimate.disagreement)) and np.isfinite(np.sum(estimate.rounding)):
        return estimate
    stays, parts = near.stays(), (estimate.found, estimate.rounding, estimate.disagreement, estimate.slope)
    for part in parts:
        np.copyto(part, 0.0, where=stays & ~np.isfinite(part))
    np.copyto(estimate.disagreement, np.inf, where=~np.isfinite(estimate.found + estimate.error()))
    return estimate


def one_sided(near: Sides, nearer: Sides) -> tuple[Array, Array]:
    """The smaller and the larger one-sided derivative; infinite where the two steps disagree in one."""
    bound, known = near.rounding() + nearer.rounding(), np.ones(near.value.shape, bool)
    for first, second in zip(near.slopes, nearer.slopes, strict=True):
        known &= np.abs(first - second) <= KINK * np.maximum(np.abs(first), np.abs(second)) + bound
    low, high = np.minimum(*nearer.slopes) - bound, np.maximum(*nearer.slopes) + bound
    return np.where(known, low, -np.inf), np.where(known, high, np.inf)
