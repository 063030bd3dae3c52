"""Samples of other regimes: large, tiny and negative floats, zeros, integers, combinations of bools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

SCALES = (1.0, 10.0, -1.0, 100.0, 0.0, 0.01, 1e4, -100.0)
"""What the random floats of a sample are multiplied by; every other sample has no negative ones."""

RANGES = ((0, 2), (0, 10), (-100, 100), (0, 1), (1, 2), (-1, 0))
"""From which the integers of a sample are drawn."""


def varied(inputs: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return inputs like these from another regime: each number chooses one."""
    rng, found, bools = np.random.default_rng(number), dict[str, Any](), 0
    for name, array in inputs.items():
        found[name] = array
        if not isinstance(array, np.ndarray) or array.dtype.kind in "OUS":
            continue
        if array.dtype.kind == "b":
            found[name] = _bools(array, number, bools, rng)
            bools += 1
        elif array.dtype.kind in "iu":
            found[name] = _integers(array, number, rng)
        else:
            found[name] = _floats(array, number, rng)
    return found


def _bools(array: np.ndarray, number: int, place: int, rng: np.random.Generator) -> np.ndarray:
    """All alike, by the bits of the sample's number, so that all combinations of few inputs come."""
    if array.ndim and number % 3 == 2:
        return rng.integers(0, 2, array.shape).astype(bool)
    return np.full_like(array, (number >> place) & 1)


def _integers(array: np.ndarray, number: int, rng: np.random.Generator) -> np.ndarray:
    """Every other sample keeps them: they may be sizes."""
    if number % 2 == 0:
        return array
    low, high = RANGES[number // 2 % len(RANGES)]
    low = max(low, 0) if array.dtype.kind == "u" else low
    return rng.integers(low, max(high, low + 1), array.shape).astype(array.dtype)


def _floats(array: np.ndarray, number: int, rng: np.random.Generator) -> np.ndarray:
    numbers = rng.standard_normal(array.shape)
    numbers = np.abs(numbers) if number // 2 % 2 else numbers
    return (numbers * SCALES[number % len(SCALES)]).astype(np.float32).astype(array.dtype)
