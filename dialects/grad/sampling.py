"""Sampling of one axis by a resize: coordinates, taps and weights, in exact integers.

Every coordinate rule is t(y) = (y + a) S - a with a = 1/2 (`half_pixel`) or a = 0 (`corner`) and a rational
step S = n / q:

* half_pixel and asymmetric: S = X / Y,
* align_corners: S = (X - 1) / (Y - 1), and 0 where Y = 1,
* a user's step: any rational.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

COORDINATES = ("half_pixel", "corner")
INTERPOLATIONS = ("linear", "nearest_half_up", "nearest_half_down", "nearest_floor")

STEP_DENOMINATOR, STEP_NUMERATOR = 1 << 31, 1 << 42
"""Bounds on a user's step n / q: they keep (2y + 1) n inside 64 bits for axes of up to 2^20 positions.

A step of up to 2^11 is rounded by less than 2^-31; a float32 scale, or a decimal one of few digits, is exact.
A larger step skips over thousands of positions at a time and gets a smaller denominator; beyond 2^42 every
position but the first lies past the end of any axis.
"""

PART = 1 << 20
"""Positions whose taps or readers are computed at a time."""


def parts(positions: range) -> Iterator[range]:
    """Split consecutive positions into parts that take little memory."""
    for start in range(positions.start, positions.stop, PART):
        yield range(start, min(positions.stop, start + PART))


def size_step(coordinate_mode: str, x: int, y: int) -> Fraction:
    """Return the step that follows from the sizes, for a documented coordinate mode."""
    if coordinate_mode != "align_corners":
        return Fraction(x, y)
    return Fraction(x - 1, y - 1) if y > 1 else Fraction(0)


def scale_step(scale: float) -> Fraction:
    """Return S = 1 / scale, for a user's scale (output size over input size)."""
    step = min(1 / Fraction(scale), Fraction(STEP_NUMERATOR))
    return step.limit_denominator(min(STEP_DENOMINATOR, max(1, math.floor(STEP_NUMERATOR / step))))


@dataclass(frozen=True)
class ResizeRule:
    """Sampling rule of a source op: an interpolation, and its documented coordinate mode.

    `coordinate_mode` is half_pixel, align_corners or asymmetric.
    """

    interpolation: str
    coordinate_mode: str

    @property
    def coordinates(self) -> str:
        return "half_pixel" if self.coordinate_mode == "half_pixel" else "corner"

    def sampling(self, x: int, y: int, step: Fraction | None = None) -> AxisSampling:
        """Return one axis under this rule; `step` is a user's step, None to derive it from the sizes."""
        if step is None:
            step = size_step(self.coordinate_mode, x, y)
        return AxisSampling(x, y, step, self.interpolation, self.coordinates)


@dataclass(frozen=True)
class AxisSampling:
    """One axis of a resize: `y` output positions sample `x` input positions."""

    x: int
    y: int
    step: Fraction
    interpolation: str
    coordinates: str

    @property
    def is_identity(self) -> bool:
        """True if each output samples its own input position: S = 1 gives t(y) = y under every rule."""
        return self.x == self.y and self.step == 1

    def taps(self, rows: range | np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (lower, upper, fraction) for some outputs, or for all: two int64 arrays and a float64 one.

        Output y is (1 - fraction) input[lower] + fraction input[upper]. For `linear`, t is clamped to [0, X -
        1]; for `nearest_*`, the rounded index is, and the fraction is 0.
        """
        rows = range(self.y) if rows is None else rows
        chosen = np.arange(rows.start, rows.stop, dtype=np.int64) if isinstance(rows, range) else rows
        n, q = self.step.numerator, self.step.denominator
        # clamp positions beyond the end of the input, so that nothing overflows
        end = (2 * self.x + 1) * q // n + 1 if n else self.y
        y = np.minimum(chosen, min(end, self.y))
        # t = numerator / denominator: ((2y + 1) n - q) / 2q, or y n / q.
        half_pixel = self.coordinates == "half_pixel"
        numerator = (2 * y + 1) * n - q if half_pixel else y * n
        denominator = 2 * q if half_pixel else q
        if self.interpolation == "linear":
            numerator = np.clip(numerator, 0, (self.x - 1) * denominator)
            lower = numerator // denominator
            fraction = (numerator - lower * denominator) / denominator
            return lower, np.minimum(lower + 1, self.x - 1), fraction
        index = np.clip(_round(numerator, denominator, self.interpolation), 0, self.x - 1)
        return index, index, np.zeros(len(index))

    def readers(self, columns: range) -> tuple[np.ndarray, np.ndarray]:
        """Return (first, end) of the outputs that read each of consecutive inputs, empty where end = first.
        They are contiguous, as coordinates are monotonic. The cost does not depend on the number of outputs.
        """
        inputs = np.arange(columns.start, columns.stop, dtype=np.int64)
        first, end = self.reaching(inputs), self.beginning(inputs + 1)
        return first, np.maximum(first, end)

    def beginning(self, inputs: np.ndarray) -> np.ndarray:
        """Return, for each input, the first output whose lower tap is that input or later; Y if none is."""
        match self.interpolation:
            case "nearest_half_up":
                found = self._first(2 * inputs - 1)
            case "nearest_half_down":
                found = self._first(2 * inputs - 1, beyond=True)
            case _:
                found = self._first(2 * inputs)
        return self._walk_region(inputs, found)

    def reaching(self, inputs: np.ndarray) -> np.ndarray:
        """Return, for each input, the first output that reads that input or a later one; Y if none does."""
        if self.interpolation != "linear":
            return self.beginning(inputs)
        return self._walk_region(inputs, self._first(2 * inputs - 2, beyond=True))

    def _first(self, halves: np.ndarray, beyond: bool = False) -> np.ndarray:
        """Return the least integer y, possibly negative, with t(y) >= halves / 2, or > it if `beyond`."""
        n, q = self.step.numerator, self.step.denominator
        if n == 0:
            return np.full(len(halves), self.y, np.int64)
        # t(y) >= k / 2 where 2 n y >= q (k + 1) - n, or q k
        least = q * (halves + 1) - n if self.coordinates == "half_pixel" else q * halves
        return least // (2 * n) + 1 if beyond else -(-least // (2 * n))

    def _walk_region(self, inputs: np.ndarray, found: np.ndarray) -> np.ndarray:
        """Clamp found outputs: every output reads input 0 or later, none an input past the last."""
        found = np.where(inputs < self.x, np.clip(found, 0, self.y), self.y)
        return np.where(inputs <= 0, 0, found)

    def matrix(self) -> np.ndarray:
        """Return M of shape (Y, X), float64: output = M input, and the gradient is its transpose."""
        return self.part(range(self.y), range(self.x))

    def part(self, rows: range, columns: range) -> np.ndarray:
        """Return consecutive rows and columns of M, without computing the rest."""
        matrix = np.zeros((len(rows), len(columns)))
        for some in parts(rows):
            _add_taps(matrix[some.start - rows.start :], self.taps(some), columns)
        return matrix


def _add_taps(matrix: np.ndarray, taps: tuple[np.ndarray, np.ndarray, np.ndarray], columns: range) -> None:
    """Add taps to the first rows of a part of M."""
    lower, upper, fraction = taps
    for position, weight in ((lower, 1 - fraction), (upper, fraction)):
        inside = np.flatnonzero((position >= columns.start) & (position < columns.stop))
        matrix[inside, position[inside] - columns.start] += weight[inside]


def _round(numerator: np.ndarray, denominator: int, interpolation: str) -> np.ndarray:
    """Round numerator / denominator with the tie rule of the interpolation."""
    match interpolation:
        case "nearest_half_up":
            return (2 * numerator + denominator) // (2 * denominator)
        case "nearest_half_down":
            return -((denominator - 2 * numerator) // (2 * denominator))
        case _:
            return numerator // denominator
