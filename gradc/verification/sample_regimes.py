"""Samples of other ranges: large, tiny and negative floats, zeros, integers, combinations of bools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

SCALES = (1.0, 10.0, -1.0, 100.0, 0.0, 0.01, 1e4, -100.0)
"""Scales of the random floats of samples; the floats of every other pair of samples are not negative."""

RANGES = ((0, 2), (0, 10), (-100, 100), (0, 1), (1, 2), (-1, 0))
"""Ranges of the integers of samples."""


def vary_inputs(inputs: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return inputs of the same types from the range that `number` chooses."""
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
    """Return equal elements by a bit of the sample's number, so that all combinations of few inputs occur."""
    if array.ndim and number % 3 == 2:
        return rng.integers(0, 2, array.shape).astype(bool)
    return np.full_like(array, (number >> place) & 1)


def _integers(array: np.ndarray, number: int, rng: np.random.Generator) -> np.ndarray:
    """Draw integers in every other sample; the others keep them, since they may be sizes."""
    if number % 2 == 0:
        return array
    low, high = RANGES[number // 2 % len(RANGES)]
    low = max(low, 0) if array.dtype.kind == "u" else low
    return rng.integers(low, max(high, low + 1), array.shape).astype(array.dtype)


def _floats(array: np.ndarray, number: int, rng: np.random.Generator) -> np.ndarray:
    numbers = rng.standard_normal(array.shape)
    numbers = np.abs(numbers) if number // 2 % 2 else numbers
    return (numbers * SCALES[number % len(SCALES)]).astype(np.float32).astype(array.dtype)
