"""Directional derivatives of ops that mix elements, by finite differences along one direction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dialects.support.diagnostics import GradcError
from gradc.verification.tangents.estimates import Sides, one_sided, smooth, straight
from gradc.verification.tangents.search import PART, Search
from gradc.verification.tangents.tangent import Array, Run, Tangent, is_float, with_open_elements

STRAIGHT = frozenset((
    "Clip", "DynamicQuantizeLinear", "GlobalMaxPool", "Hardmax", "MaxPool", "ReduceL1", "ReduceMax",
    "ReduceMin", "TopK", "Unique",
))  # fmt: skip
"""Piecewise linear ops."""

_STRAIGHT_STEPS = (2.0**-22, 2.0**-26, 2.0**-16, 2.0**-32)
_STEPS = (2.0**-10, 2.0**-14, 2.0**-18, 2.0**-22, 2.0**-26, 2.0**-30)
_RATIO = 16.0
_SIDE_STEPS = (2.0**-18, 2.0**-21)

SAMPLE = 4096
LOST, SHOWS = 1e-4, 1e-7
"""Digits of a step are lost if the operand's rounding exceeds these fractions of it and of a typical step."""

Moved = Mapping[int, Array]


class _Line:
    """An op along a line through its operands."""

    def __init__(self, operands: Sequence[Any], moved: Moved, run: Run, values: Sequence[Any], size: float):
        self._operands, self._moved, self._run, self._size = operands, moved, run, size
        self._is_float = [*map(is_float, values)]
        self.values: list[Array] = [value for value in values if is_float(value)]

    def sides(self, step: float) -> list[Sides] | None:
        """Return the values on both sides, as vectors; None if the op fails or has other shapes there."""
        width = step * self._size
        ahead, behind = self._at(width), self._at(-width)
        if ahead is None or behind is None:
            return None
        return [
            Sides(value.reshape(-1), a.reshape(-1), b.reshape(-1), width, width)
            for value, a, b in zip(self.values, ahead, behind, strict=True)
        ]

    def _at(self, width: float) -> list[Array] | None:
        moved = list(self._operands)
        for index, tangent in self._moved.items():
            moved[index] = width * tangent
            moved[index] += self._operands[index]
        return self._evaluate(moved)

    def _evaluate(self, operands: Sequence[Any]) -> list[Array] | None:
        try:
            results = self._run(operands)
        except GradcError:
            return None
        found = [result for result, kept in zip(results, self._is_float, strict=True) if kept]
        same = all(np.shape(a) == b.shape for a, b in zip(found, self.values, strict=True))
        return found if same else None

    def depends_on_lost(self) -> list[Array | None]:
        """Return, for each result, the mask of elements that depend on operand elements that lose the
        step."""
        moved, generator = list(self._operands), np.random.default_rng(0)
        width = self._size * _STEPS[1]
        for index, tangent in self._moved.items():
            operand = np.ascontiguousarray(self._operands[index])
            least = SHOWS * width * (_typical(tangent, 0.5) or 0.0)
            lost = _lost(operand.reshape(-1), width * tangent.reshape(-1), least)
            if lost.size:
                changed = operand.copy()
                parts = generator.uniform(-1.0, 1.0, lost.size)
                changed.reshape(-1)[lost] *= 1 + parts * 2.0**-10
                moved[index] = changed
        if all(a is b for a, b in zip(moved, self._operands, strict=True)):
            return [None] * len(self.values)
        found = self._evaluate(moved)
        if found is None:
            return [np.ones(value.shape, bool) for value in self.values]
        changes = [~(a == b) for a, b in zip(found, self.values, strict=True)]
        return [each if each.any() else None for each in changes]


def _lost(operand: Array, change: Array, least: float) -> Array:
    """Return the indices of the finite elements that lose digits of a change, by more than `least`."""
    found: list[Array] = []
    for start in range(0, operand.size, PART):
        part = slice(start, start + PART)
        here, by = operand[part], change[part]
        error = np.abs((here + by) - here - by)
        found.append(np.flatnonzero((error > LOST * np.abs(by)) & (error > least)) + start)
    return np.concatenate(found) if found else np.empty(0, np.intp)


def whole(
    name: str,
    operands: Sequence[Any],
    moved: Moved,
    run: Run,
    values: Sequence[Any],
    size: float | None = None,
) -> list[Tangent | None]:
    """Return the tangents of the results; `values` are the results at the operands. Steps are relative to
    `size`, by default `step_size`."""
    line = _Line(operands, moved, run, values, step_size(operands, moved) if size is None else size)
    searches = [Search(value.size) for value in line.values]
    far: list[Sides] | None = None
    for step in _STRAIGHT_STEPS if name in STRAIGHT else _STEPS:
        if not any(search.needs_more for search in searches):
            break
        near = line.sides(step)
        if name in STRAIGHT and near is not None:
            for search, side in zip(searches, near, strict=True):
                search.step(lambda at, s=side: straight(_select(s, at)))
        elif far is not None and near is not None:
            for search, a, b in zip(searches, far, near, strict=True):
                search.step(lambda at, a=a, b=b: smooth(_select(a, at), _select(b, at), _RATIO))
        far = near
    found = iter(_tangents(line, searches))
    return [next(found) if is_float(value) else None for value in values]


def _select(sides: Sides, at: Any) -> Sides:
    return Sides(sides.value[at], sides.ahead[at], sides.behind[at], sides.right, sides.left)


def _tangents(line: _Line, searches: Sequence[Search]) -> list[Tangent]:
    if not all(search.is_started for search in searches):
        shapes = [value.shape for value in line.values]
        return [with_open_elements(np.zeros(shape), 0.0, np.ones(shape, bool)) for shape in shapes]
    sides: list[list[Sides] | None] = []

    def one_sided_of(index: int, at: Array) -> tuple[Array, Array]:
        if not sides:
            sides.extend(line.sides(step) for step in _SIDE_STEPS)
        near, nearer = sides
        if near is None or nearer is None:
            return np.full(at.size, -np.inf), np.full(at.size, np.inf)
        return one_sided(_select(near[index], at), _select(nearer[index], at))

    return [
        search.tangent(value.shape, lambda at, i=index: one_sided_of(i, at), lost)
        for index, (search, value, lost) in enumerate(
            zip(searches, line.values, line.depends_on_lost(), strict=True)
        )
    ]


def step_size(operands: Sequence[Any], moved: Moved) -> float:
    """Return the smallest ratio of the typical magnitudes of an operand and its tangent, which ignore masks
    and heavy channels."""
    ratios, sizes = list[float](), list[float]()
    for index, tangent in moved.items():
        of_tangent, of_operand = _typical(tangent, 0.5), _typical(operands[index], 0.25)
        if of_tangent is not None:
            sizes.append(of_tangent)
            ratios += [] if of_operand is None else [of_operand / of_tangent]
    return min(ratios) if ratios else 1 / max(sizes, default=1.0)


def _typical(array: Array, quantile: float) -> float | None:
    """Return a quantile of the finite nonzero magnitudes."""
    some = array.reshape(-1)[:: max(1, array.size // SAMPLE)]
    some = np.abs(some[np.isfinite(some) & (some != 0)])
    if not some.size and array.size > SAMPLE:
        some = np.abs(array[np.isfinite(array) & (array != 0)])
    return float(np.quantile(some, quantile)) if some.size else None
