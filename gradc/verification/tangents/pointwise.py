"""Directional derivatives of pointwise ops by finite differences with a separate step for each element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from gradc.verification.tangents.estimates import Estimate, Sides, one_sided, smooth, stepwise, straight
from gradc.verification.tangents.search import Search
from gradc.verification.tangents.tangent import Array, Run, Tangent

RATIO = 4.0
"""Ratio of the two steps for a smooth op."""

STRAIGHT = frozenset((
    "Abs", "Clip", "HardSigmoid", "LeakyRelu", "Max", "Min", "Mod", "PRelu", "Relu", "Shrink",
    "ThresholdedRelu",
))  # fmt: skip
"""Piecewise linear ops. A step relative to the operand never crosses a kink at 0."""

STEPWISE = frozenset(("Ceil", "Floor", "Round", "Sign"))
"""Ops that are constant between jumps."""

SINGULAR = frozenset(("Div", "Log", "Pow", "Reciprocal", "Sqrt"))
"""Ops that change on the scale of the operand; the others change on a scale of 1."""

RELATIVE, ABSOLUTE = True, False

_STRAIGHT_STEPS = (
    *((RELATIVE, 2.0**-16), (ABSOLUTE, 2.0**-20), (RELATIVE, 2.0**-24), (ABSOLUTE, 2.0**-30)),
    *((RELATIVE, 2.0**-32), (RELATIVE, 2.0**-8)),
)
_STEPS = (2.0**-11, 2.0**-7, 2.0**-15, 2.0**-20, 2.0**-26)
_SMOOTH_STEPS = tuple((kind, step) for step in _STEPS for kind in (ABSOLUTE, RELATIVE))
_SINGULAR_STEPS = tuple((kind, step) for step in _STEPS for kind in (RELATIVE, ABSOLUTE))


def steps_of(name: str) -> tuple[tuple[bool, float], ...]:
    if name in STRAIGHT or name in STEPWISE:
        return _STRAIGHT_STEPS
    return _SINGULAR_STEPS if name in SINGULAR else _SMOOTH_STEPS


@dataclass(frozen=True)
class _Part:
    """Elements of the operands and of the result, as vectors; an operand without a tangent may be a scalar.
    The tangents are `directions`, of magnitude at most 1, times `weight`."""

    run: Run
    operands: Sequence[Any]
    directions: Sequence[Any]
    weight: Array
    value: Array

    def estimate(self, name: str, relative: bool, size: float) -> Estimate:
        step = self._step(relative, size)
        if name in STEPWISE:
            found = stepwise(self._sides(step))
        elif name in STRAIGHT:
            found = straight(self._sides(step))
        else:
            found = smooth(self._sides(step), self._sides(step / RATIO), RATIO)
        return found.scale_by(self.weight)

    def one_sided(self) -> tuple[Array, Array]:
        step = self._step(RELATIVE, 1.0)
        step = np.where(np.isfinite(step) & (step != 0), step, 1.0)
        sides = one_sided(self._sides(step * 2.0**-18), self._sides(step * 2.0**-21))
        first, second = (side * self.weight for side in sides)
        return np.fmin(first, second), np.fmax(first, second)

    def taken(self, chosen: Any) -> _Part:
        operands = [x[chosen] if np.ndim(x) else x for x in self.operands]
        directions = [d if d is None or d is UNIT else d[chosen] for d in self.directions]
        return _Part(self.run, operands, directions, self.weight[chosen], self.value[chosen])

    def _step(self, relative: bool, size: float) -> Array | float:
        if not relative:
            return size
        moved = [x for x, d in zip(self.operands, self.directions, strict=True) if d is not None]
        if len(moved) == 1:
            return moved[0] * size
        return reduce(np.maximum, map(np.abs, moved)) * size

    def _sides(self, step: Array | float) -> Sides:
        (ahead, right), (behind, left) = self._at(step), self._at(-step)
        return Sides(self.value, ahead, behind, right, -left)

    def _at(self, step: Any) -> tuple[Array, Any]:
        """Return the value at a step, and the step's width after rounding."""
        moved, width = list(self.operands), step
        for index, direction in enumerate(self.directions):
            if direction is UNIT:
                moved[index] = self.operands[index] + step
                width = moved[index] - self.operands[index]
            elif direction is not None:
                moved[index] = self.operands[index] + step * direction
        return self.run(moved)[0], width


UNIT = np.array(1.0)
"""The direction of the only operand with a tangent."""


def pointwise(name: str, operands: Sequence[Any], tangents: Sequence[Any], run: Run, value: Array) -> Tangent:
    """Return the tangent of the result; `value` is the result at the operands."""
    weight, directions = _directions(tangents, value.shape)
    flat = [
        np.reshape(x, ()) if t is None and np.size(x) == 1 else _flat(x, value.shape)
        for x, t in zip(operands, tangents, strict=True)
    ]
    whole = _Part(run, flat, directions, weight, value.reshape(-1))
    search = Search(value.size)
    for relative, size in steps_of(name):
        if search.needs_more:
            search.step(lambda at, r=relative, s=size: whole.taken(at).estimate(name, r, s))
    return search.tangent(value.shape, lambda at: whole.taken(at).one_sided())


def _directions(tangents: Sequence[Any], shape: tuple[int, ...]) -> tuple[Array, list[Any]]:
    """Return the largest magnitude of the tangents per element, and the tangents divided by it."""
    moved = [_flat(t, shape) for t in tangents if t is not None]
    if len(moved) == 1:
        return moved[0], [None if t is None else UNIT for t in tangents]
    weight = reduce(np.maximum, map(np.abs, moved))
    divisor = np.where(weight > 0, weight, 1.0)
    vectors = iter(moved)
    return weight, [None if t is None else next(vectors) / divisor for t in tangents]


def _flat(array: Any, shape: tuple[int, ...]) -> Array:
    return np.broadcast_to(array, shape).reshape(-1)
