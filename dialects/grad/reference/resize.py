"""Resize gradients by scatter, float64, coordinates in exact fractions.

The forward resize gives output y the sum of its taps' weights times the input. Its gradient adds
diff_dst[y] times each weight back to that tap. A tap of weight 0, the neighbour of a position that is met
exactly, is none: what is sampled there has no part in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Axis:
    """`coordinate(y)` is where output y lies on an input axis of `x` positions."""

    axis: int
    x: int
    coordinate: Callable[[int], Fraction]
    interpolation: str


def resize_backward(diff_dst: np.ndarray, axes: Sequence[Axis]) -> np.ndarray:
    """diff_dst with each of the axes brought from Y to its x."""
    shape = list(diff_dst.shape)
    for axis in axes:
        shape[axis.axis] = axis.x
    diff_src = np.zeros(shape)
    taps = [_taps(axis, diff_dst.shape[axis.axis]) for axis in axes]
    for choice in product(*taps):
        weighted = diff_dst.astype(np.float64)
        index = [np.arange(n) for n in diff_dst.shape]
        for axis, (position, weight) in zip(axes, choice, strict=True):
            used = np.flatnonzero(weight)
            along = [1] * diff_dst.ndim
            along[axis.axis] = -1
            weighted = weighted.take(used, axis.axis) * weight[used].reshape(along)
            index[axis.axis] = position[used]
        np.add.at(diff_src, np.ix_(*index), weighted)
    return diff_src


def _taps(axis: Axis, y_size: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Up to two (positions, weights) pairs, each with an entry per output position."""
    rows = [_row(axis, y) for y in range(y_size)]
    lower = np.array([r[0] for r in rows], dtype=int), np.array([float(1 - r[2]) for r in rows])
    upper = np.array([r[1] for r in rows], dtype=int), np.array([float(r[2]) for r in rows])
    return [lower, upper] if axis.interpolation == "linear" else [lower]


def _row(axis: Axis, y: int) -> tuple[int, int, Fraction]:
    """(lower neighbour, upper neighbour, weight of the upper) of output y."""
    t = axis.coordinate(y)
    last = axis.x - 1
    if axis.interpolation == "linear":
        t = min(max(t, Fraction(0)), Fraction(last))
        lower = math.floor(t)
        return lower, min(lower + 1, last), t - lower
    rounded = {
        "nearest_half_up": lambda: math.floor(t + HALF),
        "nearest_half_down": lambda: math.ceil(t - HALF),
        "nearest_floor": lambda: math.floor(t),
    }[axis.interpolation]()
    index = min(max(rounded, 0), last)
    return index, index, Fraction(0)


def size_coordinate(mode: str, x: int, y: int) -> Callable[[int], Fraction]:
    """The coordinate rule of a documented mode, from the true sizes."""
    match mode:
        case "half_pixel":
            return lambda i: (i + HALF) * Fraction(x, y) - HALF
        case "align_corners":
            return lambda i: Fraction(i * (x - 1), y - 1) if y > 1 else Fraction(0)
        case _:
            return lambda i: Fraction(i * x, y)


def scale_coordinate(mode: str, scale: float) -> Callable[[int], Fraction]:
    """The coordinate rule of half_pixel or asymmetric, from a scale that the user gave.

    A float stands for the simple ratio next to it: 1 / 0.14285714285714285 is 7, and a position that is
    met exactly has no neighbour with a weight of 1e-16, which would be inf where that one is.
    """
    step = (1 / Fraction(scale)).limit_denominator(2**31)
    if mode == "half_pixel":
        return lambda i: (i + HALF) * step - HALF
    return lambda i: i * step
