"""Directional derivative of one op at its operands, with the method for each op."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from dialects.onnx import traits
from dialects.onnx.base import OnnxOp
from dialects.support.diagnostics import GradcError
from gradc.verification.tangents import shifts
from gradc.verification.tangents.linear import Linear, along, groups_of
from gradc.verification.tangents.pointwise import pointwise
from gradc.verification.tangents.tangent import Run, Tangent, is_float, total, with_open_elements
from gradc.verification.tangents.whole import step_size, whole

SIZES: Mapping[str, frozenset[int]] = {
    "CastLike": frozenset((1,)),
    "Dropout": frozenset((1,)),
    "OneHot": frozenset((1,)),
    "Range": frozenset((1,)),
    "Resize": frozenset((1, 2)),
}
"""Op -> schema indices of float operands that are sizes, scales or depths, which have no derivative."""

CHANGE = 1e-6
"""Largest relative change of a result that counts as rounding."""


def jvp(
    op: Operation,
    operands: Sequence[Any],
    tangents: Sequence[Any],
    run: Run,
    results: Sequence[Any] | None = None,
) -> list[Any]:
    """Return the directional derivative of each result of `op`, which has no regions, along `tangents`.

    `operands` are the values of `op.operands`: float64 arrays, arrays of other types, lists for sequences.
    `tangents` has an array of the operand's shape, a list, or None for each. `run` evaluates the op at other
    operands; for pointwise ops also at operands of other shapes. `results` are the values at `operands`, if
    they are known. A result has a Tangent, a list of them, or None if it holds no floats.
    """
    with np.errstate(all="ignore"):
        return _push_op(op, operands, tangents, run, results)


def _push_op(
    op: Operation, operands: Sequence[Any], tangents: Sequence[Any], run: Run, results: Sequence[Any] | None
) -> list[Any]:
    name, attributes = (op.onnx_name(), op.onnx_attributes()) if isinstance(op, OnnxOp) else (op.name, {})
    positions = _positions(op)
    places = {position: index for index, position in enumerate(positions)}
    left = {index for index, tangent in enumerate(tangents) if tangent is not None}
    parts: list[list[Any]] = []
    for group in groups_of(name, attributes, len(operands)):
        by_index = Linear([places[p] for p in group.operands if p in places], group.results, group.affine)
        chosen = left.intersection(by_index.operands)
        if chosen:
            left -= chosen
            parts.append(along(run, operands, tangents, chosen, by_index))
    left = {index for index in left if _moves(tangents[index])}
    if left or not parts:
        values = run(operands) if results is None else results
        sizes = {index for index in left if positions[index] in SIZES.get(name, ())}
        moved = {index: tangents[index] for index in sorted(left - sizes)}
        parts.append(_by_differences(op, name, attributes, positions, operands, moved, run, values))
        if sizes:
            moved = {index: tangents[index] for index in sorted(sizes)}
            parts.append(_of_sizes(operands, moved, run, values))
    found = parts[0]
    for part in parts[1:]:
        found = [total(*each) for each in zip(found, part, strict=True)]
    return _zero_where_still(name, found, tangents)


def _moves(tangent: Any) -> bool:
    if isinstance(tangent, list):
        return any(map(_moves, tangent))
    return tangent is not None and bool(np.any(tangent))


def _positions(op: Operation) -> Sequence[int]:
    """Return the schema index of each operand."""
    if not isinstance(op, OnnxOp) or len(op.operands) == 1:
        return range(len(op.operands))
    return [position for position, value in enumerate(op.onnx_inputs()) if value is not None]


def _by_differences(
    op: Operation,
    name: str,
    attributes: Mapping[str, Any],
    positions: Sequence[int],
    operands: Sequence[Any],
    moved: Mapping[int, Any],
    run: Run,
    values: Sequence[Any],
) -> list[Any]:
    if not moved or not any(map(is_float, values)):
        return [Tangent(np.zeros_like(value)) if is_float(value) else None for value in values]
    if name == "Range":
        return [_of_range(positions, moved, values[0])]
    if isinstance(op, OnnxOp) and name in traits.POINTWISE and (name != "Clip" or [*moved] == [0]):
        aligned = [moved.get(index) for index in range(len(operands))]
        return [pointwise(name, operands, aligned, run, values[0])]
    if (name in shifts.AXES or name in shifts.LOSSES) and [*moved] == [0] and operands[0].size:
        axis = 1 if name in shifts.LOSSES else attributes.get("axis", shifts.AXES.get(name))
        return _of_rows(name, operands, moved[0], axis, run)
    if name == "Attention" and shifts.MASK in positions:
        return _without_large_masks(name, operands, positions.index(shifts.MASK), moved, run, values)
    return whole(name, operands, moved, run, values)


def _without_large_masks(
    name: str, operands: Sequence[Any], index: int, moved: Mapping[int, Any], run: Run, values: Sequence[Any]
) -> list[Any]:
    """Differentiate an Attention with the largest element of each mask row subtracted, which preserves the
    results; elements that change nevertheless, since the mask cost digits, are open."""
    given = shifts.without_large_masks(operands, index)
    shifted = values if given[index] is operands[index] else run(given)
    found = whole(name, given, moved, run, shifted)
    for place, (tangent, old, new) in enumerate(zip(found, values, shifted, strict=True)):
        if tangent is not None and old is not new:
            changes = ~(np.abs(old - new) <= CHANGE * (np.abs(old) + np.abs(old).mean()))
            if changes.any():
                found[place] = total(tangent, with_open_elements(np.zeros(old.shape), 0.0, changes))
    return found


def _of_rows(name: str, operands: Sequence[Any], tangent: Any, axis: int, run: Run) -> list[Any]:
    """Differentiate an op that is invariant under adding a number to a row of its first operand."""
    data, place = shifts.subtract_largest(operands[0], axis)
    unit, size = shifts.normalize_tangent(tangent, place, axis)
    given = [data, *operands[1:]]
    if name in shifts.LOSSES:  # sums over rows
        return whole(name, given, {0: unit * size}, run, run(given), 1 / max(float(size.max()), 1e-300))
    (found,) = whole(name, given, {0: unit}, run, run(given), 1.0)
    assert found is not None
    if name == "LogSoftmax":
        found = _of_differences(found, unit, place, axis)
    return [_scale(found, size)]


def _of_differences(found: Tangent, tangent: Any, place: Any, axis: int) -> Tangent:
    """Improve the tangent of `operand - row constant` with that of the row's largest element."""
    noise = np.broadcast_to(found.noise, found.found.shape)
    known = np.take_along_axis(found.found, place, axis) + tangent
    less = np.take_along_axis(noise, place, axis) * np.ones_like(known)
    better = less < noise
    if found.open is not None:
        better &= ~found.open & ~np.take_along_axis(found.open, place, axis)
    known, less = np.where(better, known, found.found), np.where(better, less, noise)
    return (
        Tangent(known, less)
        if found.open is None
        else with_open_elements(known, less, found.open, found.low, found.high)
    )


def _scale(tangent: Tangent, size: Any) -> Tangent:
    if tangent.open is None or tangent.low is None or tangent.high is None:
        return Tangent(tangent.found * size, tangent.noise * size)
    still = size == 0
    low, high = (np.where(still, 0.0, side * size) for side in (tangent.low, tangent.high))
    unknown = tangent.open & ~still
    if not unknown.any():
        return Tangent(tangent.found * size, tangent.noise * size)
    return Tangent(tangent.found * size, tangent.noise * size, unknown, low, high)


def _of_range(positions: Sequence[int], moved: Mapping[int, Any], value: Any) -> Tangent:
    """Differentiate start + i * delta for a constant number of elements."""
    by_position = {positions[index]: np.reshape(tangent, ()) for index, tangent in moved.items()}
    return Tangent(
        by_position.get(0, 0.0) + by_position.get(2, 0.0) * np.arange(value.size, dtype=np.float64)
    )


def _of_sizes(
    operands: Sequence[Any], moved: Mapping[int, Any], run: Run, values: Sequence[Any]
) -> list[Any]:
    """Return a tangent that is open at elements that change with a small change of a size."""
    step, found = 1e-3 * step_size(operands, moved), []
    ends = [_near(operands, moved, sign * step, run) for sign in (1, -1)]
    for index, value in enumerate(values):
        if not is_float(value):
            found.append(None)
            continue
        changes = np.zeros(value.shape, bool)
        for end in ends:
            same = end is not None and end[index].shape == value.shape
            changes |= ~(end[index] == value) if end is not None and same else np.ones(value.shape, bool)
        zeros = np.zeros(value.shape)
        found.append(with_open_elements(zeros, 0.0, changes) if changes.any() else Tangent(zeros))
    return found


def _near(operands: Sequence[Any], moved: Mapping[int, Any], step: float, run: Run) -> Any:
    changed = list(operands)
    for index, tangent in moved.items():
        changed[index] = operands[index] + step * tangent
    try:
        return run(changed)
    except GradcError:
        return None


def _zero_where_still(name: str, found: list[Any], tangents: Sequence[Any]) -> list[Any]:
    """Close open elements of Mul and Div where no operand moves; they are 0 * inf."""
    one = found[0] if len(found) == 1 else None
    if name not in ("Div", "Mul") or not isinstance(one, Tangent) or one.open is None:
        return found
    still = np.ones(one.found.shape, bool)
    for tangent in tangents:
        still &= tangent is None or np.broadcast_to(np.asarray(tangent) == 0, still.shape)
    unknown = one.open & ~still
    assert one.low is not None
    assert one.high is not None
    low, high = (np.where(unknown, side, one.found) for side in (one.low, one.high))
    return [Tangent(one.found, one.noise, unknown, low, high)]
