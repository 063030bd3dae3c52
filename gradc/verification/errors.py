"""Errors of values relative to float64 ones, in four measures.

absolute             |got - exact|
of the terms         |got - exact| / sum of |terms|
ulps of the terms    |got - exact| / spacing of the dtype at that sum
ulps of the result   |got - exact| / spacing of the dtype at |exact|

A sum of n terms in any order has an error of at most n roundings of that sum; if terms cancel, a small result
may have an error of many of its ulps with any algorithm.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import ml_dtypes
import numpy as np

ABSOLUTE, OF_TERMS = "absolute", "of the terms"
ULPS_OF_TERMS, ULPS_OF_RESULT = "ulps of the terms", "ulps of the result"
MEASURES = (ABSOLUTE, OF_TERMS, ULPS_OF_TERMS, ULPS_OF_RESULT)


@dataclass(frozen=True)
class Spread:
    """Largest error, 99th percentile and median of many values; 0 without values."""

    worst: float
    p99: float
    median: float

    @classmethod
    def of(cls, errors: np.ndarray) -> Spread:
        if not errors.size:
            return cls(0.0, 0.0, 0.0)
        p99, median = np.percentile(errors, [99, 50], method="higher")
        return cls(float(errors.max()), float(p99), float(median))


@dataclass(frozen=True)
class Errors:
    """`spreads` by measure over the `compared` of all `values`, those that are finite on both sides.

    `mismatches` counts values that are inf, -inf or NaN on one side and something else on the other.
    """

    values: int
    compared: int
    mismatches: int
    spreads: Mapping[str, Spread]


def errors(got: np.ndarray, exact: np.ndarray, magnitude: np.ndarray) -> Errors:
    """Return the errors of a float array relative to float64 arrays of the same shape.

    An exact value beyond the range of the dtype is expected to be inf.
    """
    with np.errstate(all="ignore"):
        rounded = exact.astype(got.dtype)
    both = np.isfinite(got) & np.isfinite(rounded)
    same = both | (np.isnan(got) & np.isnan(rounded)) | (got == rounded)
    off = np.abs(got[both].astype(np.float64) - exact[both])
    terms = magnitude[both]
    measured = {
        ABSOLUTE: off,
        OF_TERMS: _over(off, terms),
        ULPS_OF_TERMS: off / ulp(terms, got.dtype),
        ULPS_OF_RESULT: off / ulp(exact[both], got.dtype),
    }
    spreads = {name: Spread.of(values) for name, values in measured.items()}
    return Errors(got.size, int(both.sum()), int((~same).sum()), spreads)


def _over(off: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """Return off / terms, with 0 / 0 = 0 and inf for an error without terms."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(off == 0, 0.0, off / terms)


def ulp(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return the spacing of the dtype's numbers at float64 values, at least its smallest subnormal."""
    info = ml_dtypes.finfo(dtype)
    least = float(info.smallest_subnormal)
    _, exponent = np.frexp(np.maximum(np.abs(values), least))
    return np.maximum(np.ldexp(1.0, exponent - 1 - info.nmant), least)
