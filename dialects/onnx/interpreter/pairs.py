"""Arrays with tangents. Control flow and sequence ops move them like arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Pair:
    """An array and its tangent, of one shape."""

    value: np.ndarray
    tangent: np.ndarray


def value_of(given: Any) -> Any:
    """Return the array of a pair, the arrays of a sequence, or any other value unchanged."""
    if isinstance(given, list):
        return list(map(value_of, _elements(given)))
    return given.value if isinstance(given, Pair) else given


def tangent_of(given: Any) -> Any:
    """Return the tangent of a pair, those of a sequence with zeros for missing ones, or None."""
    if not isinstance(given, list):
        return given.tangent if isinstance(given, Pair) else None
    found = list(map(tangent_of, _elements(given)))
    if all(tangent is None for tangent in found):
        return None
    values = value_of(given)
    return [np.zeros(v.shape) if t is None else t for t, v in zip(found, values, strict=True)]


def pair_with(value: Any, tangent: Any) -> Any:
    """Join a value, or a sequence, with its tangent, which may be None."""
    if tangent is None:
        return value
    if isinstance(value, list):
        return [pair_with(v, t) for v, t in zip(_elements(value), tangent, strict=True)]
    return Pair(value, tangent)


def stack_pairs(parts: Sequence[Any], axis: int) -> Any:
    """Stack the values of a loop's steps along a new axis."""
    values = np.stack([value_of(part) for part in parts], axis)
    if not any(isinstance(part, Pair) for part in parts):
        return values
    tangents = [part.tangent if isinstance(part, Pair) else np.zeros(part.shape) for part in parts]
    return Pair(values, np.stack(tangents, axis))


def slices(given: Any, axis: int) -> list[Any]:
    """Split a value along an axis, which is removed."""
    if isinstance(given, Pair):
        values, tangents = slices(given.value, axis), slices(given.tangent, axis)
        return [Pair(v, t) for v, t in zip(values, tangents, strict=True)]
    return [np.asarray(part) for part in np.moveaxis(given, axis, 0)]


def _elements(sequence: Any) -> list[Any]:
    return sequence
