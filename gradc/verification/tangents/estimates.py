"""Finite-difference estimates of a derivative from both sides of a point, with error estimates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gradc.verification.tangents.tangent import Array

ROUNDING = 8 * float(np.finfo(np.float64).eps)
"""Relative rounding error of the difference of two values."""

KINK = 1e-4
"""An element is undecided if its steps or sides disagree by more than this relative difference."""


@dataclass(frozen=True)
class Sides:
    """Values of a function at a point and at a step to both sides, with the signed step widths."""

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
        """Return the difference of the one-sided slopes."""
        return np.abs(np.subtract(*self.slopes))

    def rounding(self) -> Array:
        """Return a bound on the rounding error of a slope."""
        return ROUNDING * np.abs(self.value / self.right)

    def stays(self) -> Array:
        """Return the mask of elements with the same finite value on both sides, also at infinite operands."""
        same = (self.ahead == self.value) & (self.behind == self.value) & np.isfinite(self.value)
        return same & (np.asarray(self.right) != 0)


@dataclass
class Estimate:
    """A derivative and its error: `rounding` plus the `disagreement` of the steps. `slope` is a one-sided
    derivative, a scale for the errors even where the derivative is near 0."""

    found: Array
    rounding: Array
    disagreement: Array
    slope: Array

    def error(self) -> Array:
        return self.rounding + self.disagreement

    def scale_by(self, weight: Array) -> Estimate:
        """Return the estimate times a factor; 0 * inf is 0."""
        size = np.abs(weight)
        parts = (self.found * weight, self.rounding * size, self.disagreement * size, self.slope * weight)
        if not np.isfinite(np.sum(parts[2])):
            parts = tuple(np.where((weight == 0) & ~np.isfinite(part), 0.0, part) for part in parts)
        return Estimate(*parts)

    def taken(self, chosen: Array) -> Estimate:
        parts = (self.found, self.rounding, self.disagreement, self.slope)
        return Estimate(*(part[chosen] for part in parts))

    def improve(self, other: Estimate, chosen: Array) -> None:
        """Replace those of the `chosen` elements for which another estimate has a smaller error."""
        better = ~(self.error()[chosen] <= other.error()) & np.isfinite(other.found)
        at = chosen[better]
        self.found[at], self.rounding[at] = other.found[better], other.rounding[better]
        self.disagreement[at] = other.disagreement[better]

    def is_undecided(self, floor: float) -> Array:
        bound = KINK * np.abs(self.found) + 4 * self.rounding + floor
        return ~((self.disagreement <= bound) & np.isfinite(self.found))


def straight(near: Sides) -> Estimate:
    """Estimate the slope of a piecewise linear function, valid if both sides agree."""
    return _finite(Estimate(near.central(), near.rounding(), near.apart(), near.slopes[0]), near)


def stepwise(near: Sides) -> Estimate:
    """Estimate the slope of a step function, which may jump at the point."""
    zeros = np.zeros(near.value.shape)
    return Estimate(zeros, zeros, np.where(near.stays(), 0.0, np.inf), zeros)


def smooth(far: Sides, near: Sides, ratio: float) -> Estimate:
    """Estimate the slope of a smooth function by Richardson extrapolation. The error is the change between
    the two steps, assumed of first order in the step, as at a jump of the second derivative, plus a
    difference of the sides that does not shrink with the step, as at a kink."""
    fine, rounding = near.central(), near.rounding()
    change = fine - far.central()
    kink = near.apart() - (2 / ratio) * far.apart()
    np.copyto(kink, 0.0, where=kink <= rounding)
    found, disagreement = fine + change / (ratio * ratio - 1), np.abs(change) / (ratio - 1) + kink
    return _finite(Estimate(found, rounding, disagreement, far.slopes[0]), near)


def _finite(estimate: Estimate, near: Sides) -> Estimate:
    """Replace non-finite estimates: 0 for elements that do not change, else an infinite error."""
    if np.isfinite(np.sum(estimate.disagreement)) and np.isfinite(np.sum(estimate.rounding)):
        return estimate
    stays, parts = near.stays(), (estimate.found, estimate.rounding, estimate.disagreement, estimate.slope)
    for part in parts:
        np.copyto(part, 0.0, where=stays & ~np.isfinite(part))
    np.copyto(estimate.disagreement, np.inf, where=~np.isfinite(estimate.found + estimate.error()))
    return estimate


def one_sided(near: Sides, nearer: Sides) -> tuple[Array, Array]:
    """Return the smaller and the larger one-sided derivative, infinite if the two steps disagree."""
    bound, known = near.rounding() + nearer.rounding(), np.ones(near.value.shape, bool)
    for first, second in zip(near.slopes, nearer.slopes, strict=True):
        known &= np.abs(first - second) <= KINK * np.maximum(np.abs(first), np.abs(second)) + bound
    low, high = np.minimum(*nearer.slopes) - bound, np.maximum(*nearer.slopes) + bound
    return np.where(known, low, -np.inf), np.where(known, high, np.inf)
