# pyright: standard
# (numpy's stubs have no type for the overload of take used here)
"""Vectorized error function: Taylor polynomials around the nearest of many centres.

With a = |x| and d = a - c, erf(a) = erf(c) + the sum over n of e_n(c) d^n. The e_n are those of the integral
of g(x) = 2 / sqrt(pi) exp(-x^2), whose coefficients follow from g' = -2 x g: (n + 1) g_{n+1} = -2 (c g_n +
g_{n-1}).
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

LAST = 6
"""From here on erf is 1 in float64."""

PER_UNIT = 256
"""Centres per unit: dense enough that the first omitted term is below 2^-53."""

DEGREE = 5

PART = 2**14
"""Numbers computed at a time: temporaries stay in a cache."""


@cache
def _coefficients() -> np.ndarray:
    """Return the coefficients, (DEGREE + 1, centres)."""
    centres = np.arange(LAST * PER_UNIT + 1) / PER_UNIT
    before, terms = np.zeros(centres.shape), 2 / math.sqrt(math.pi) * np.exp(-np.square(centres))
    rows = [np.array([math.erf(c) for c in centres.tolist()])]
    for n in range(DEGREE):
        rows.append(terms / (n + 1))
        before, terms = terms, -2 * (centres * terms + before) / (n + 1)
    return np.array(rows)


def erf(x: np.ndarray) -> np.ndarray:
    """Compute erf in float64, within 2 units in the last place."""
    flat, result = x.reshape(-1), np.empty(x.size)
    for start in range(0, x.size, PART):
        part = slice(start, start + PART)
        _part(flat[part], result[part])
    return result.reshape(x.shape)


def _part(x: np.ndarray, result: np.ndarray) -> None:
    size = np.minimum(np.abs(x), LAST)
    centre = np.rint(np.fmin(size, LAST) * PER_UNIT)
    near, index = size - centre / PER_UNIT, centre.astype(np.int64)
    *rows, last = _coefficients()
    np.take(last, index, out=result, mode="clip")
    term = np.empty(x.shape)
    for row in reversed(rows):
        result *= near
        result += np.take(row, index, out=term, mode="clip")
    np.copysign(result, x, out=result)
