# pyright: standard
# (numpy in comprehensions, whose elements its stubs do not know)
"""Resize gradients by scatter, float64, coordinates in exact fractions.

The forward resize computes output y as the weighted sum of its taps. Its gradient adds diff_dst[y] times each
weight to that tap. Taps of weight 0 are skipped, so the neighbour of an exactly sampled position never
contributes, even if it is inf.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from dialects.reference_cost import account

HALF = Fraction(1, 2)


WORD = 2**62
"""Integers below this use int64, others Python ints."""

PART = 2**20
"""Elements of diff_dst scattered at once, unless one index of its longest axis has more."""


@dataclass(frozen=True)
class Coordinate:
    """Input coordinate of output y: t(y) = step y + start."""

    step: Fraction
    start: Fraction

    def __call__(self, y: int) -> Fraction:
        return self.step * y + self.start

    def numerators(self, outputs: range, x_size: int) -> tuple[np.ndarray, int]:
        """Return exact numerators of t(y) and their denominator, fit for comparison with values < x_size."""
        unit = math.lcm(self.step.denominator, self.start.denominator)
        step, start = int(self.step * unit), int(self.start * unit)
        largest = 4 * (abs(step) * outputs.stop + abs(start) + unit * (x_size + 1))
        # numerator and denominator below 2^53: float64 divides them with one rounding
        dtype = np.int64 if largest < WORD and unit < 2**53 else object
        return np.arange(outputs.start, outputs.stop, dtype=dtype) * step + start, unit


@dataclass(frozen=True)
class Axis:
    """A resized axis: its index, its input size `x`, and the coordinate rule of its outputs."""

    axis: int
    x: int
    coordinate: Coordinate
    interpolation: str


def resize_backward(diff_dst: np.ndarray, axes: Sequence[Axis]) -> np.ndarray:
    """Return the gradient: diff_dst with each of the axes brought from size Y to x."""
    shape = list(diff_dst.shape)
    for axis in axes:
        shape[axis.axis] = axis.x
    each = 4 if any(axis.interpolation == "linear" for axis in axes) else 1
    account.charge(
        8 * each * diff_dst.size + 32 * sum(diff_dst.shape) + math.prod(shape), 8 * math.prod(shape)
    )
    diff_src = np.zeros(shape)
    longest = int(np.argmax(diff_dst.shape))
    rows = max(1, PART * diff_dst.shape[longest] // max(1, diff_dst.size))
    for start in range(0, diff_dst.shape[longest], rows):
        part = [range(size) for size in diff_dst.shape]
        part[longest] = part[longest][start : start + rows]
        _scatter(diff_src, diff_dst, axes, part, longest)
    return diff_src


def _scatter(
    diff_src: np.ndarray, diff_dst: np.ndarray, axes: Sequence[Axis], part: Sequence[range], longest: int
) -> None:
    """Add the contributions of a part of diff_dst to the slice of the longest axis that they reach."""
    taps = [_taps(axis, part[axis.axis]) for axis in axes]
    given = diff_dst[tuple(slice(rows.start, rows.stop) for rows in part)]
    for choice in product(*taps):
        weighted = given.astype(np.float64)
        index = [np.arange(rows.start, rows.stop) for rows in part]
        for axis, (position, weight) in zip(axes, choice, strict=True):
            used = np.flatnonzero(weight)
            along = [1] * given.ndim
            along[axis.axis] = -1
            weighted = weighted.take(used, axis.axis) * weight[used].reshape(along)
            index[axis.axis] = position[used]
        if not weighted.size:
            continue
        reached = slice(index[longest].min(), index[longest].max() + 1)
        index[longest] -= reached.start
        target = diff_src[(slice(None),) * longest + (reached,)]
        places = np.ravel_multi_index(np.ix_(*index), target.shape).ravel()
        target += np.bincount(places, weighted.ravel(), minlength=target.size).reshape(target.shape)


def _taps(axis: Axis, outputs: range) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return up to two (positions, weights) pairs, with an entry per output."""
    last = axis.x - 1
    t, unit = axis.coordinate.numerators(outputs, axis.x)
    if axis.interpolation != "linear":
        rounded = {
            "nearest_half_up": lambda: (2 * t + unit) // (2 * unit),
            "nearest_half_down": lambda: -((unit - 2 * t) // (2 * unit)),
            "nearest_floor": lambda: t // unit,
        }[axis.interpolation]()
        return [(rounded.clip(0, last).astype(int), np.ones(len(outputs)))]
    t = t.clip(0, last * unit)
    lower = t // unit
    beyond = t - lower * unit
    upper = (lower + 1).clip(0, last)
    lower_weight, upper_weight = ((unit - beyond) / unit).astype(float), (beyond / unit).astype(float)
    return [(lower.astype(int), lower_weight), (upper.astype(int), upper_weight)]


def half_pixel(step: Fraction) -> Coordinate:
    """Return t(y) = (y + 1/2) step - 1/2."""
    return Coordinate(step, HALF * step - HALF)


def corner(step: Fraction) -> Coordinate:
    """Return t(y) = y step."""
    return Coordinate(step, Fraction(0))


def size_coordinate(mode: str, x: int, y: int) -> Coordinate:
    """Return the coordinate rule of a documented mode, from the true sizes."""
    match mode:
        case "half_pixel":
            return half_pixel(_ratio(x, y))
        case "align_corners":
            return corner(_ratio(x - 1, y - 1))
        case _:
            return corner(_ratio(x, y))


def _ratio(x: int, y: int) -> Fraction:
    """Return x / y; 0 without outputs. A single output samples position 0."""
    return Fraction(x, y) if y > 0 else Fraction(0)


def scale_coordinate(mode: str, scale: float) -> Coordinate:
    """Return the coordinate rule of half_pixel or asymmetric, from a user's scale.

    A float means the nearest simple ratio: 1 / 0.14285714285714285 is 7. Otherwise an exactly sampled
    position would have a neighbour of weight 1e-16, which matters if that is inf.
    """
    step = (1 / Fraction(scale)).limit_denominator(2**31)
    return half_pixel(step) if mode == "half_pixel" else corner(step)
