"""numpy semantics of Resize from exact coordinates: each result is a weighted sum of a few elements.

Nearest mode with a scale from the model is computed in f32 instead: the f32 scale 2 / 3 is not exactly 2 / 3,
so exact coordinates would round to other elements than in runtimes.

Positions are computed in parts, since there may be millions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dialects.onnx.call import Call, axes_of
from dialects.onnx.infer.spatial import resize as resize_shape
from dialects.support import limits
from dialects.support.diagnostics import UnsupportedError, violation
from dialects.support.shapes import static

PART = 2**18
"""Elements gathered at once, unless one position takes more."""

WORD, SIGNIFICAND = 2**62, 2**51
"""Integers below the first use int64, and quotients of integers below the second are rounded once in float64;
others use Python ints."""

HALF = Fraction(1, 2)

TIE = 1e-6
"""Tolerance within which an f32 coordinate counts as a tie."""

Region = tuple[float, float]
"""The part of an axis that a crop selects, in [0, 1]."""

WHOLE = (0.0, 1.0)


def resize(call: Call) -> list[np.ndarray]:
    """Compute Y: each axis a weighted sum over positions, or one of them for `nearest`."""
    data = call.operand(0).value
    assert data is not None
    nearest = call.attribute("mode", "nearest") == "nearest"
    if data.dtype.kind in "iu" and not nearest:
        given = call.attribute("mode")
        raise UnsupportedError(violation(f"mode of {call.name}", given=given).diagnostic)
    data = data if nearest else data.astype(np.float64)
    outside = np.zeros((1,) * data.ndim, bool)
    changes = axes_to_resize(call)
    # shrink axes first, so that no intermediate is larger than the operand or the result
    for axis, positions in sorted(changes, key=lambda change: change[1].resized - change[1].size):
        data = positions.of(data, axis)
        beyond = positions.outside()
        if beyond.any():
            outside = outside | beyond.reshape([-1 if i == axis else 1 for i in range(data.ndim)])
    if not outside.any():
        return [data]
    return [np.where(outside, call.attribute("extrapolation_value", 0.0), data.astype(np.float64))]


def axes_to_resize(call: Call) -> list[tuple[int, AxisResize]]:
    """Return the axes of a Resize of static sizes, and how each is resized."""
    shape = static(call.operand(0).shape)
    assert shape is not None
    axes = axes_of(call.attribute("axes", range(len(shape))), len(shape))
    changes: list[tuple[int, AxisResize]] = []
    for number, (axis, scale) in enumerate(zip(axes, _scales(call, axes), strict=True)):
        region = _region(call, number, len(axes))
        size = shape[axis]
        wanted = resize_shape(call)[0][axis]
        resized = wanted if isinstance(wanted, int) else math.floor(size * (region[1] - region[0]) * scale)
        given = call.optional(3) is None
        changes.append((axis, AxisResize(call.attributes, size, resized, scale, region, given)))
    return changes


def _region(call: Call, number: int, count: int) -> Region:
    """Return the crop region of the `number`-th of `count` axes."""
    if call.attribute("coordinate_transformation_mode") != "tf_crop_and_resize":
        return WHOLE
    roi = call.operand(1).value
    assert roi is not None
    return float(roi[number]), float(roi[count + number])


def _scales(call: Call, axes: Sequence[int]) -> list[Fraction]:
    """Return the factor that divides coordinates, for each of `axes`."""
    data, given = call.operand(0).shape, call.optional(2)
    if given is not None and given.value is not None and given.value.size:
        return [Fraction(float(scale)) for scale in given.value]
    wanted, sizes = call.operand(3).value, static([data[a] for a in axes])
    assert wanted is not None
    assert sizes is not None
    # an empty axis keeps its size
    ratios = [Fraction(1) if w == d else Fraction(int(w), d) for w, d in zip(wanted, sizes, strict=True)]
    policy = call.attribute("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return ratios
    return [min(ratios) if policy == "not_larger" else max(ratios)] * len(ratios)


def resize_matrix(axis: AxisResize) -> np.ndarray:
    """Return weights (resized, size), float64, with zero rows for positions outside the input.

    Raises LimitError if the matrix is too large for a constant.
    """
    limits.check("constant-elements", axis.resized * axis.size, "elements of the matrix of a resized axis")
    matrix = np.zeros((axis.resized, axis.size))
    for rows in axis.parts(1):
        places, weights = axis.taps(rows)
        np.add.at(matrix, (np.broadcast_to(rows, places.shape), places), weights)
    if (beyond := axis.outside()).any():
        matrix[beyond] = 0
    return matrix


@dataclass(frozen=True)
class AxisResize:
    """Resizing of an axis from `size` to `resized` positions, by the attributes of a Resize.

    `given`: the model has an f32 scale; otherwise it follows from the sizes.
    """

    attributes: Mapping[str, Any]
    size: int
    resized: int
    scale: Fraction
    region: Region = WHOLE
    given: bool = False

    @property
    def mode(self) -> str:
        found = self.attributes.get("mode", "nearest")
        if found not in ("nearest", "linear", "cubic"):
            raise violation("mode", given=found)
        return found

    @cached_property
    def coordinate(self) -> tuple[Fraction, Fraction]:
        """(step, start): position y of the result samples step y + start."""
        size, resized, inverse = self.size, self.resized, 1 / self.scale
        mode = self.attributes.get("coordinate_transformation_mode", "half_pixel")
        half_pixel = inverse, HALF * inverse - HALF
        match mode:
            case "half_pixel":
                return half_pixel
            case "half_pixel_symmetric":
                adjustment = resized / (self.scale * size)
                return inverse, Fraction(size, 2) * (1 - adjustment) + half_pixel[1]
            case "pytorch_half_pixel":
                return half_pixel if resized > 1 else (Fraction(0), Fraction(0))
            case "align_corners":
                return Fraction(size - 1, resized - 1) if resized > 1 else Fraction(0), Fraction(0)
            case "asymmetric":
                return inverse, Fraction(0)
            case "tf_crop_and_resize":
                start, end = (Fraction(place) * (size - 1) for place in self.region)
                if resized > 1:
                    return (end - start) / (resized - 1), start
                return Fraction(0), (start + end) / 2
            case _:
                raise violation("coordinate_transformation_mode", given=mode)

    @property
    def distance_factor(self) -> Fraction:
        """Factor of distances: less than 1 if `antialias` widens the kernel."""
        return min(self.scale, Fraction(1)) if self.attributes.get("antialias", 0) else Fraction(1)

    @property
    def reach(self) -> Fraction:
        """The kernel's radius."""
        if self.mode == "nearest":
            return Fraction(0)
        return (1 if self.mode == "linear" else 2) / self.distance_factor

    @property
    def max_taps(self) -> int:
        """Maximum number of taps per position of the result."""
        return math.floor(2 * self.reach) + 1

    @property
    def is_identity(self) -> bool:
        return (
            self.size == self.resized and self.coordinate == (1, 0) and not self.attributes.get("antialias")
        )

    def parts(self, elements: int) -> Iterator[np.ndarray]:
        """Split the result's positions into parts, given the elements per tap."""
        count = max(1, PART // max(1, elements * self.max_taps))
        for start in range(0, self.resized, count):
            yield np.arange(start, min(start + count, self.resized))

    def of(self, data: np.ndarray, axis: int) -> np.ndarray:
        """Resize an axis of the data."""
        shape = (*data.shape[:axis], self.resized, *data.shape[axis + 1 :])
        if not data.size or not self.resized:
            return np.zeros(shape, data.dtype)
        if self.is_identity:
            return data
        result = np.empty(shape, data.dtype)
        before = (slice(None),) * axis
        for rows in self.parts(data.size // self.size):
            result[(*before, slice(rows[0], rows[-1] + 1))] = self._part(data, axis, rows)
        return result

    def _part(self, data: np.ndarray, axis: int, rows: np.ndarray) -> np.ndarray:
        places, weights = self.taps(rows)
        found = np.take(data, places, axis)
        if self.mode == "nearest":
            return found[(slice(None),) * axis + (0,)]
        found *= weights.reshape(*weights.shape, *[1] * (data.ndim - axis - 1))
        found[(slice(None),) * axis + (weights == 0,)] = 0  # also if the element is inf
        return found.sum(axis)

    def outside(self) -> np.ndarray:
        """Return which positions of the result a crop samples outside the input."""
        if self.attributes.get("coordinate_transformation_mode") != "tf_crop_and_resize":
            return np.zeros(1, bool)
        found = np.zeros(self.resized, bool)
        for rows in self.parts(1):
            t, unit = self._coordinates(rows)
            found[rows] = (t < 0) | (t > (self.size - 1) * unit)
        return found

    def _coordinates(self, rows: np.ndarray) -> tuple[np.ndarray, int]:
        """Return exact coordinates of positions of the result, as integers over one denominator."""
        step, start = self.coordinate
        unit = math.lcm(step.denominator, start.denominator, self.reach.denominator, 2)
        ends = (abs(step) * self.resized + abs(start) + self.size + 2 * self.reach + 2) * unit
        numerator, denominator = self._distance_scale(unit)
        whole = ends * numerator < WORD and denominator < SIGNIFICAND
        t = rows.astype(np.int64 if whole else object)
        return t * int(step * unit) + int(start * unit), unit

    def _distance_scale(self, unit: int) -> tuple[int, int]:
        """Return the fraction that scales distances, in parts of a unit, for the kernel."""
        found = self.distance_factor / unit
        return found.numerator, found.denominator

    def taps(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return positions and float64 weights, (taps, rows), whose weighted sums are the results."""
        if self.mode == "nearest":
            found = self._nearest_in_f32(rows) if self.given else self._nearest(*self._coordinates(rows))
            places = np.clip(found, 0, self.size - 1)
            return places[None].astype(np.int64), np.ones((1, len(rows)))
        t, unit = self._coordinates(rows)
        reach = int(self.reach * unit)
        first, last = -((reach - t) // unit), (t + reach) // unit
        places = first + np.arange(self.max_taps).astype(t.dtype)[:, None]
        weights = np.where(places <= last, self._kernel(abs(places * unit - t), unit), 0)
        if self.attributes.get("exclude_outside", 0):
            weights = np.where((places >= 0) & (places < self.size), weights, 0)
        if self.attributes.get("antialias", 0) or self.attributes.get("exclude_outside", 0):
            total = weights.sum(0)
            weights /= np.where(total == 0, 1, total)
        return np.clip(places, 0, self.size - 1).astype(np.int64), weights

    def _kernel(self, distances: np.ndarray, unit: int) -> np.ndarray:
        numerator, denominator = self._distance_scale(unit)
        t = ((distances * numerator) / denominator).astype(np.float64)
        return 1 - t if self.mode == "linear" else keys(t, self.attributes.get("cubic_coeff_a", -0.75))

    def _nearest(self, t: np.ndarray, unit: int) -> np.ndarray:
        mode = self.attributes.get("nearest_mode", "round_prefer_floor")
        match mode:
            case "round_prefer_floor":
                return -((unit // 2 - t) // unit)
            case "round_prefer_ceil":
                return (t + unit // 2) // unit
            case "floor":
                return t // unit
            case "ceil":
                return -(-t // unit)
            case _:
                raise violation("nearest_mode", given=mode)

    def _nearest_in_f32(self, rows: np.ndarray) -> np.ndarray:
        place = self._coordinates_in_f32(rows)
        mode = self.attributes.get("nearest_mode", "round_prefer_floor")
        match mode:
            case "round_prefer_floor":
                return np.ceil(place - (0.5 + TIE))
            case "round_prefer_ceil":
                return np.floor(place + (0.5 + TIE))
            case "floor":
                return np.floor(place)
            case "ceil":
                return np.ceil(place)
            case _:
                raise violation("nearest_mode", given=mode)

    def _coordinates_in_f32(self, rows: np.ndarray) -> np.ndarray:
        """Return coordinates of positions of the result, float64 values of f32 quotients."""
        scale, f32 = float(self.scale), np.float32
        match self.attributes.get("coordinate_transformation_mode", "half_pixel"):
            case "asymmetric":
                return (rows / scale).astype(f32).astype(np.float64)
            case "half_pixel_symmetric":
                adjustment = f32(self.resized) / f32(f32(scale) * f32(self.size))
                start = float(f32(1) - adjustment) * self.size / 2
                return (start + (rows + 0.5) / scale - 0.5).astype(f32).astype(np.float64)
            case "half_pixel" | "pytorch_half_pixel" if self.coordinate[0]:
                return ((rows + 0.5) / scale).astype(f32).astype(np.float64) - 0.5
            case _:
                step, start = self.coordinate
                return (rows * float(step) + float(start)).astype(f32).astype(np.float64)


def keys(t: np.ndarray, a: float) -> np.ndarray:
    """Return Keys' cubic kernel at distances t in [0, 2]."""
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return np.where(t <= 1, near, far)
