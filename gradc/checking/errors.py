"""Errors of values against float64 ones, in four measures.

    absolute          |got - exact|
    of the terms      the same over the sum of the magnitudes of the terms that were added up
    ulps of the terms the same over the distance of the dtype's numbers at that sum
    ulps of the result   the same over the distance of the dtype's numbers at |exact|

An algorithm that adds n terms in any order is off by n roundings of that sum at most; where terms
cancel, a small result may still be off by many of its own ulps, whatever computes it.
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
    """Of the errors of many values: the largest, the 99th percentile, the median; 0 of none."""

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
    """`spreads` by measure, over the `compared` of all `values`: those that are finite on both sides.

    `mismatches`: how many are inf, -inf or NaN on one side and something else on the other.
    """

    values: int
    compared: int
    mismatches: int
    spreads: Mapping[str, Spread]


def errors(got: np.ndarray, exact: np.ndarray, magnitude: np.ndarray) -> Errors:
    """Of an array of some float dtype against float64 arrays of the same shape.

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
    """0 where both are: no terms, no error. Terms of 0 with an error are infinitely wrong."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(off == 0, 0.0, off / terms)


def ulp(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The distance of the dtype's numbers at float64 values, at least its smallest number."""
    info = ml_dtypes.finfo(dtype)
    least = float(info.smallest_subnormal)
    _, exponent = np.frexp(np.maximum(np.abs(values), least))
    return np.maximum(np.ldexp(1.0, exponent - 1 - info.nmant), least)
