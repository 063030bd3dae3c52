"""When two results are equal: one table, judged by the float64 error of what was computed.

The error of a sum of products in precision eps is at most (number of terms) eps sum |terms|, and
typically its square root. `magnitude` is that sum of |terms|, elementwise: the reference evaluated on
the absolute values of all inputs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dialects.support import dtypes


@dataclass(frozen=True)
class Tolerance:
    """`accumulated` is relative to the sum of |terms|, `ulps` and `bits` to the rounded result."""

    accumulated: float
    ulps: int
    bits: int
    """Of the significand, the leading one not counted."""
    least: float
    """The smallest positive number of the dtype."""
    coordinate: float = 0.0
    """Relative to the largest magnitude: how far a user's scale may move a sampling weight."""


TOLERANCES = {
    "f64": Tolerance(1e-13, 0, 52, 5e-324),
    "f32": Tolerance(4e-6, 0, 23, 1.4e-45, 2.0**-38),
    "bf16": Tolerance(4e-6, 1, 7, 2.0**-133, 2.0**-38),
    "f16": Tolerance(4e-6, 1, 10, 2.0**-24, 2.0**-38),
}


def ulp(values: np.ndarray, tolerance: Tolerance) -> np.ndarray:
    """The spacing of the dtype's numbers at float64 values."""
    _, exponent = np.frexp(np.abs(values))
    return np.maximum(np.ldexp(1.0, exponent - 1 - tolerance.bits), tolerance.least)


def allowed_error(want: np.ndarray, magnitude: np.ndarray, *, chained: bool = False) -> np.ndarray:
    """How far a result may be from the reference's `want`, elementwise.

    In a chain of ops of half type every intermediate rounding counts, too.
    """
    dtype = dtypes.of_numpy(want.dtype)
    assert dtype is not None
    tolerance = TOLERANCES[dtype.name]
    scale = magnitude.astype(np.float64)
    allowed = tolerance.accumulated * scale + tolerance.ulps * ulp(want.astype(np.float64), tolerance)
    if scale.size:
        allowed += tolerance.coordinate * scale.max()
    if chained:
        # the data is of the order of 1, and a later op may read nothing but moved weights
        allowed += 4 * 2.0**-tolerance.bits * scale + tolerance.coordinate
    return allowed


def assert_agree(
    got: np.ndarray, want: np.ndarray, magnitude: np.ndarray, what: str, *, chained: bool = False
) -> None:
    assert got.dtype == want.dtype, (what, got.dtype, want.dtype)
    assert got.shape == want.shape, (what, got.shape, want.shape)
    if want.size == 0:
        return
    error = np.abs(got.astype(np.float64) - want.astype(np.float64))
    allowed = allowed_error(want, magnitude, chained=chained)
    if np.all(error <= allowed):
        return
    worst = np.unravel_index(np.nanargmax(np.where(np.isnan(error), np.inf, error - allowed)), error.shape)
    raise AssertionError(
        f"{what}: {(~(error <= allowed)).sum()} of {error.size} differ; at {tuple(map(int, worst))} got "
        f"{got[worst]}, want {want[worst]}, allowed error {allowed[worst]:.3g}"
    )
