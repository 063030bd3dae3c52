"""Directional derivatives of pointwise ops: differences with a step of its own for each element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradc.checking.tangents.estimates import (
    FLOOR,
    RATIO,
    Estimate,
    Sides,
    improve,
    one_sided,
    smooth,
    straight,
)
from gradc.checking.tangents.tangent import Array, Run, Tangent, bounded

PART = 2**17
"""Elements that are computed with at once: their arrays fit a cache."""

STRAIGHT = frozenset((
    "Abs", "Ceil", "Clip", "Floor", "HardSigmoid", "LeakyRelu", "Max", "Min", "Mod", "PRelu", "Relu", "Round",
    "Shrink", "Sign", "ThresholdedRelu",
))  # fmt: skip
"""Ops of straight pieces. A step relative to the operand never crosses a kink at 0."""

SINGULAR = frozenset(("Div", "Log", "Pow", "Reciprocal", "Sqrt"))
"""Ops that change on the scale of the operand itself; the others change on a scale of 1."""

RELATIVE, ABSOLUTE = True, False

_STRAIGHT_STEPS = (
    *((RELATIVE, 2.0**-16), (ABSOLUTE, 2.0**-20), (RELATIVE, 2.0**-24), (ABSOLUTE, 2.0**-30)),
    *((RELATIVE, 2.0**-32), (RELATIVE, 2.0**-8)),
)
_STEPS = (2.0**-11, 2.0**-7, 2.0**-15, 2.0**-20, 2.0**-26)
_SMOOTH_STEPS = tuple((kind, step) for step in _STEPS for kind in (ABSOLUTE, RELATIVE))
_SINGULAR_STEPS = tuple((kind, step) for step in _STEPS for kind in (RELATIVE, ABSOLUTE))


def steps_of(name: str) -> tuple[tuple[bool, float], ...]:
    if name in STRAIGHT:
        return _STRAIGHT_STEPS
    return _SINGULAR_STEPS if name in SINGULAR else _SMOOTH_STEPS


@dataclass(frozen=True)
class _Part:
    """Some elements of the operands and of the result, all as vectors; operands of one element may be one
    number. `directions` have magnitudes of at most 1."""

    run: Run
    operands: Sequence[Any]
    directions: Sequence[Any]
    value: Array

    def sides(self, step: Array | float) -> Sides:
        ahead, right = self._at(step)
        behind, left = self._at(-step)
        return Sides(ahead, behind, right, left)

    def _at(self, step: Any) -> tuple[Array, Any]:
        """The value at a step, and the length of that step after roundings."""
        moved, width = list(self.operands), np.abs(step)
        for index, direction in enumerate(self.directions):
            if direction is not None:
                moved[index] = self.operands[index] + step * direction
                if direction is UNIT:
                    width = np.abs(moved[index] - self.operands[index])
        return self.run(moved)[0], width

    def step(self, relative: bool, size: float) -> Array | float:
        if not relative:
            return size
        moved = [abs(x) for x, d in zip(self.operands, self.directions, strict=True) if d is not None]
        largest = moved[0]
        for each in moved[1:]:
            largest = np.maximum(largest, each)
        return largest * size

    def estimate(self, is_straight: bool, relative: bool, size: float) -> Estimate:
        step = self.step(relative, size)
        if is_straight:
            return straight(self.value, self.sides(step))
        return smooth(self.value, self.sides(step), self.sides(step / RATIO))

    def taken(self, chosen: Any) -> _Part:
        operands = [_taken(x, chosen) for x in self.operands]
        directions = [d if d is None or d is UNIT else _taken(d, chosen) for d in self.directions]
        return _Part(self.run, operands, directions, self.value[chosen])

    def one_sided(self) -> tuple[Array, Array]:
        size = self.step(RELATIVE, 1.0)
        size = np.where(np.isfinite(size) & (size > 0), size, 1.0)
        near, nearer = self.sides(size * 2.0**-22), self.sides(size * 2.0**-25)
        return one_sided(self.value, near, nearer)


UNIT = np.array(1.0)
"""The direction of a single operand that moves."""


TINY = float(np.finfo(np.float64).tiny)


def _taken(array: Any, chosen: Any) -> Any:
    return array if np.size(array) == 1 else array[chosen]


def pointwise(name: str, operands: Sequence[Any], tangents: Sequence[Any], run: Run, value: Array) -> Tangent:
    """`value` is the result at the operands."""
    weight, directions = _directions(tangents, value.shape)
    flat = [
        np.reshape(x, ()) if t is None and np.size(x) == 1 else _flat(x, value.shape)
        for x, t in zip(operands, tangents, strict=True)
    ]
    whole = _Part(run, flat, directions, value.reshape(-1))
    is_straight, ((relative, size), *further) = name in STRAIGHT, steps_of(name)
    estimate = _in_parts(whole, is_straight, relative, size)
    floor = _floor(estimate.found, weight)
    more = np.flatnonzero(estimate.needs_more(weight, floor) & (weight != 0))
    for relative, size in further:
        if not more.size:
            break
        improve(estimate, whole.taken(more).estimate(is_straight, relative, size), more)
        more = more[estimate.taken(more).needs_more(weight[more], floor)]
    return _tangent(whole, estimate, weight, more, floor, value.shape)


def _directions(tangents: Sequence[Any], shape: tuple[int, ...]) -> tuple[Array, list[Any]]:
    """The largest magnitude of the tangents of each element of the result, and what of it each has."""
    moved = [t for t in tangents if t is not None]
    if len(moved) == 1:
        return _flat(moved[0], shape), [None if t is None else UNIT for t in tangents]
    vectors = [None if t is None else _flat(t, shape) for t in tangents]
    weight = np.zeros(())
    for each in vectors:
        weight = weight if each is None else np.maximum(weight, np.abs(each))
    divisor = np.where(weight > 0, weight, 1.0)
    return weight, [None if t is None else t / divisor for t in vectors]


def _flat(array: Any, shape: tuple[int, ...]) -> Array:
    return np.broadcast_to(array, shape).reshape(-1)


def _in_parts(whole: _Part, is_straight: bool, relative: bool, size: float) -> Estimate:
    count = whole.value.size
    if count <= PART:
        return whole.estimate(is_straight, relative, size)
    found = Estimate(*(np.empty(count) for _ in range(3)))
    for start in range(0, count, PART):
        part = slice(start, start + PART)
        one = whole.taken(part).estimate(is_straight, relative, size)
        found.found[part], found.rounding[part], found.disagreement[part] = (
            one.found,
            one.rounding,
            one.disagreement,
        )
    return found


def _floor(found: Array, weight: Array) -> float:
    products = np.abs(found * weight)
    mean = float(products.mean()) if products.size else 0.0
    if not np.isfinite(mean):
        mean = float(products.mean(where=np.isfinite(products)))
    return FLOOR * mean if np.isfinite(mean) else 0.0


def _tangent(
    whole: _Part, estimate: Estimate, weight: Array, more: Array, floor: float, shape: tuple[int, ...]
) -> Tangent:
    """`more` are the elements that no step satisfied."""
    found, noise = estimate.found * weight, estimate.error() * np.abs(weight)
    still = ~np.isfinite(found) & (weight == 0)
    np.copyto(found, 0.0, where=still)
    np.copyto(noise, 0.0, where=~np.isfinite(noise))
    weights = weight[more]
    undecided = estimate.taken(more).is_undecided(floor / np.maximum(np.abs(weights), TINY))
    more, weights = more[undecided], weights[undecided]
    if not more.size:
        return Tangent(found.reshape(shape), noise.reshape(shape))
    sides = [side * weights for side in whole.taken(more).one_sided()]
    low, high, unknown = found.copy(), found.copy(), np.zeros(found.shape, bool)
    low[more], high[more] = np.fmin(*sides), np.fmax(*sides)
    unknown[more] = True
    return bounded(*(each.reshape(shape) for each in (found, noise, unknown, low, high)))
