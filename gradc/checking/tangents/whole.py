"""Directional derivatives of ops that mix elements: differences of the whole op along one direction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dialects.onnx.kernels import NUMPY_ERRORS
from dialects.support.diagnostics import GradcError
from gradc.checking.tangents.estimates import FLOOR, Estimate, Sides, one_sided, smooth, straight
from gradc.checking.tangents.tangent import Array, Run, Tangent, bounded, is_float

STRAIGHT = frozenset((
    "Clip", "DynamicQuantizeLinear", "GlobalMaxPool", "Hardmax", "MaxPool", "ReduceL1", "ReduceMax",
    "ReduceMin", "RoiAlign", "ScatterElements", "ScatterND", "TopK", "Unique",
))  # fmt: skip
"""Ops of straight pieces."""

_STRAIGHT_STEPS = (2.0**-20, 2.0**-26, 2.0**-14, 2.0**-32)
_STEPS = (2.0**-10, 2.0**-14, 2.0**-18, 2.0**-22, 2.0**-26, 2.0**-30)
_RATIO = 16.0

SAMPLE = 4096
LOST = 1e-4
"""Part of a step that roundings of an operand may take before its digits count as lost."""

Moved = Mapping[int, Array]


class _Line:
    """An op along a line through its operands."""

    def __init__(self, operands: Sequence[Any], moved: Moved, run: Run, values: Sequence[Any]):
        self.operands, self.moved, self.run, self.values = operands, moved, run, values

    def at(self, step: float) -> list[Array] | None:
        """The results, or None where the op has none there, or of other shapes."""
        moved = list(self.operands)
        for index, tangent in self.moved.items():
            moved[index] = self.operands[index] + step * tangent
        return self.computed(moved)

    def computed(self, operands: Sequence[Any]) -> list[Array] | None:
        try:
            found = self.run(operands)
        except (GradcError, *NUMPY_ERRORS):
            return None
        floats = [each for each, value in zip(found, self.values, strict=True) if is_float(value)]
        known = [value for value in self.values if is_float(value)]
        same = all(a.shape == b.shape for a, b in zip(floats, known, strict=True))
        return floats if same else None

    def sides(self, step: float) -> list[Sides] | None:
        ahead, behind = self.at(step), self.at(-step)
        if ahead is None or behind is None:
            return None
        return [Sides(a, b, step, step) for a, b in zip(ahead, behind, strict=True)]


def whole(
    name: str,
    operands: Sequence[Any],
    moved: Moved,
    run: Run,
    values: Sequence[Any],
    size: float | None = None,
) -> list[Tangent | None]:
    """`values` are the results at the operands; steps are relative to `size`, by default that of the operands
    over that of their tangents."""
    line = _Line(operands, moved, run, values)
    size = step_size(operands, moved) if size is None else size
    known = [value for value in values if is_float(value)]
    estimates = _straight(line, known, size) if name in STRAIGHT else _smooth(line, known, size)
    if estimates is None:
        found = [_unknown(value) for value in known]
    else:
        lost = _depends_on_lost(line, known, size)
        found = [
            _tangent(e, v, i, line, size, lost) for i, (e, v) in enumerate(zip(estimates, known, strict=True))
        ]
    each = iter(found)
    return [next(each) if is_float(value) else None for value in values]


def _unknown(value: Array) -> Tangent:
    return bounded(np.zeros(value.shape), 0.0, np.ones(value.shape, bool))


def step_size(operands: Sequence[Any], moved: Moved) -> float:
    """The typical size of the operands over that of their tangents, the smallest of all that move. Masks and
    heavy channels do not count."""
    ratios, sizes = [], []
    for index, tangent in moved.items():
        tangent_size = _typical(tangent, 0.5)
        if tangent_size is None:
            continue
        sizes.append(tangent_size)
        operand_size = _typical(operands[index], 0.25)
        if operand_size is not None:
            ratios.append(operand_size / tangent_size)
    return min(ratios) if ratios else 1 / max(sizes, default=1.0)


def _typical(array: Array, quantile: float) -> float | None:
    """A quantile of the magnitudes that are finite and not 0."""
    some = array.reshape(-1)[:: max(1, array.size // SAMPLE)]
    some = np.abs(some[np.isfinite(some) & (some != 0)])
    if not some.size and array.size > SAMPLE:
        some = np.abs(array[np.isfinite(array) & (array != 0)])
    return float(np.quantile(some, quantile)) if some.size else None


def _floor(estimate: Estimate) -> float:
    found = np.abs(estimate.found[np.isfinite(estimate.found)])
    return FLOOR * float(found.mean()) if found.size else 0.0


def _straight(line: _Line, values: Sequence[Array], size: float) -> list[Estimate] | None:
    best: list[Estimate] | None = None
    for step in _STRAIGHT_STEPS:
        sides = line.sides(step * size)
        if sides is None:
            continue
        best = _better(best, [straight(v, s) for v, s in zip(values, sides, strict=True)])
        if _is_enough(best):
            break
    return best


def _smooth(line: _Line, values: Sequence[Array], size: float) -> list[Estimate] | None:
    best: list[Estimate] | None = None
    far: list[Sides] | None = None
    for step in _STEPS:
        near = line.sides(step * size)
        if far is not None and near is not None:
            best = _better(
                best, [smooth(*each, ratio=_RATIO) for each in zip(values, far, near, strict=True)]
            )
            if _is_enough(best):
                break
        far = near
    return best


def _better(best: list[Estimate] | None, other: list[Estimate]) -> list[Estimate]:
    if best is None:
        return other
    for one, new in zip(best, other, strict=True):
        worse = ~(one.error() <= new.error()) & np.isfinite(new.found)
        for part in ("found", "rounding", "disagreement"):
            np.copyto(getattr(one, part), getattr(new, part), where=worse)
    return best


def _is_enough(estimates: Sequence[Estimate]) -> bool:
    return not any(each.needs_more(1.0, _floor(each)).any() for each in estimates)


def _depends_on_lost(line: _Line, values: Sequence[Array], size: float) -> list[Array] | None:
    """The elements that depend on elements of operands in which the steps were lost."""
    step, moved, generator = size * _STEPS[1], list(line.operands), np.random.default_rng(0)
    lost_any = False
    for index, tangent in line.moved.items():
        operand, change = line.operands[index], step * tangent
        lost = np.abs((operand + change) - operand - change) > LOST * np.abs(change)
        if lost.any():
            lost_any = True
            signs = generator.choice((-1.0, 1.0), operand.shape)
            moved[index] = np.where(lost, operand * (1 + signs * 2.0**-10), operand)
    if not lost_any:
        return None
    found = line.computed(moved)
    if found is None:
        return [np.ones(value.shape, bool) for value in values]
    return [~(a == b) for a, b in zip(found, values, strict=True)]


def _tangent(
    estimate: Estimate, value: Array, index: int, line: _Line, size: float, lost: Sequence[Array] | None
) -> Tangent:
    noise = estimate.error()
    undecided = estimate.is_undecided(_floor(estimate))
    if lost is not None:
        undecided |= lost[index]
    if not undecided.any():
        return Tangent(estimate.found, noise)
    noise = np.where(np.isfinite(noise), noise, 0.0)
    sides = [line.sides(size * step) for step in (2.0**-22, 2.0**-25)]
    if sides[0] is None or sides[1] is None:
        return bounded(estimate.found, noise, undecided)
    low, high = one_sided(value, sides[0][index], sides[1][index])
    if lost is not None:
        low, high = np.where(lost[index], -np.inf, low), np.where(lost[index], np.inf, high)
    return bounded(estimate.found, noise, undecided, low, high)
