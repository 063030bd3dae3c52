"""Directional derivative of one result of an op, with error bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

Run = Callable[[Sequence[Any]], Sequence[Any]]
"""Evaluates an op in float64 at other operand values. Pointwise ops are also run on other shapes."""

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Tangent:
    """The directional derivative of one result, and bounds of its error.

    `noise` bounds |found - exact| where the element is not open. An open element could not be decided: it
    lies at a kink or a jump, is not finite, or the steps lost its digits. `low` and `high` bound its
    one-sided derivatives; they equal `found` elsewhere, and are None together with `open`.
    """

    found: Array
    noise: Array | float = 0.0
    open: Array | None = None
    low: Array | None = None
    high: Array | None = None


def is_float(value: Any) -> bool:
    """Return whether a value is a float tensor, or a sequence that may contain some."""
    return isinstance(value, list) or getattr(value, "dtype", None) == np.float64


def exact(found: Array) -> Tangent:
    """Return a tangent without noise; non-finite elements are open."""
    if math.isfinite(float(np.sum(found))):
        return Tangent(found)
    unknown = ~np.isfinite(found)
    return with_open_elements(found, 0.0, unknown) if unknown.any() else Tangent(found)


def with_open_elements(
    found: Array, noise: Array | float, unknown: Array, low: Array | None = None, high: Array | None = None
) -> Tangent:
    """Return a tangent with open elements, whose one-sided derivatives are unknown unless given."""
    found = np.where(np.isfinite(found), found, 0.0)
    low = np.where(unknown, -np.inf if low is None else low, found)
    high = np.where(unknown, np.inf if high is None else high, found)
    noise = np.where(unknown, 0.0, noise)
    return Tangent(np.where(unknown & ~np.isfinite(high - low), 0.0, found), noise, unknown, low, high)


def total(first: Any, second: Any) -> Any:
    """Return the sum of two tangents of one result."""
    if first is None or second is None:
        return second if first is None else first
    if isinstance(first, list):
        return [total(*each) for each in zip(first, second, strict=True)]
    found, noise = first.found + second.found, first.noise + second.noise
    if first.open is None and second.open is None:
        return Tangent(found, noise)
    parts = (first, second)
    unknown = np.logical_or(*(np.zeros(found.shape, bool) if p.open is None else p.open for p in parts))
    low = np.add(*(p.found if p.low is None else p.low for p in parts))
    high = np.add(*(p.found if p.high is None else p.high for p in parts))
    return Tangent(found, noise, unknown, low, high)
