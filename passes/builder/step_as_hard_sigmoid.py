"""Exact steps as HardSigmoid in f32: slopes so steep that the result is 0 up to a bound and 1 beyond."""

from __future__ import annotations

import math

import numpy as np

STEEPEST = 3.4e38
"""Largest slope in f32. At bound 0 no slope is steep enough for subnormal numbers."""

SIGNIFICAND_BITS = 24
"""Significant bits of f32."""

LEAST, MOST = 1e-30, 1e30
"""Range in which a bound times its slope is representable in f32."""

Line = tuple[float, float]
"""(alpha, beta) of a HardSigmoid, exact in f32."""


def line_behind(bound: float) -> Line | None:
    """Return the line that is 0 at a bound and at least 1 at the next number."""
    if bound == 0:
        return STEEPEST, 0.0
    if not LEAST < abs(bound) < MOST:
        return None
    alpha = math.ldexp(1.0, SIGNIFICAND_BITS + 1 - math.frexp(bound)[1])
    return alpha, -alpha * bound


def line_from(bound: float) -> Line | None:
    """Return the line that is 1 at a bound and at most 0 at the previous number."""
    if bound == 0:
        return STEEPEST, 1.0
    if not LEAST < abs(bound) < MOST:
        return None
    fraction, exponent = math.frexp(bound)
    alpha = math.ldexp(1.0, SIGNIFICAND_BITS - exponent + (fraction == 0.5))
    beta = 1.0 - alpha * bound
    return (alpha, beta) if float(np.float32(beta)) == beta else None


def step_of_square(line: Line) -> Line | None:
    """Convert a step in |x|, 1 below a bound and 0 from it on, to a step in x * x; None if the f32 squares of
    the bound and the previous number are equal."""
    alpha, beta = line
    bound = np.float32(-beta / alpha)
    below = np.nextafter(bound, np.float32(0))
    if not math.sqrt(LEAST) < bound < math.sqrt(MOST) or line != _falling(float(bound)):
        return None
    if bound * bound == below * below:
        return None
    return _falling(float(bound * bound))


def _falling(bound: float) -> Line | None:
    rising = line_behind(bound)
    return None if rising is None else (-rising[0], -rising[1])
