"""Lines so steep that a HardSigmoid along one is a step: 0 up to a bound and 1 behind it, exactly, in f32."""

from __future__ import annotations

import math

import numpy as np

STEEPEST = 3.4e38
"""The largest slope that f32 has. From 0 on no slope is steep enough for subnormal numbers."""

PLACES = 24
"""The significant bits of f32."""

LEAST, MOST = 1e-30, 1e30
"""Between these, a bound times its slope is a number of f32."""

Line = tuple[float, float]
"""alpha and beta, exact in f32."""


def line_behind(bound: float) -> Line | None:
    """0 at a bound, and 1 or more at the next number."""
    if bound == 0:
        return STEEPEST, 0.0
    if not LEAST < abs(bound) < MOST:
        return None
    alpha = math.ldexp(1.0, PLACES + 1 - math.frexp(bound)[1])
    return alpha, -alpha * bound


def line_from(bound: float) -> Line | None:
    """1 at a bound, and 0 or less at the number before it."""
    if bound == 0:
        return STEEPEST, 1.0
    if not LEAST < abs(bound) < MOST:
        return None
    fraction, exponent = math.frexp(bound)
    alpha = math.ldexp(1.0, PLACES - exponent + (fraction == 0.5))
    beta = 1.0 - alpha * bound
    return (alpha, beta) if float(np.float32(beta)) == beta else None


def squared_step(line: Line) -> Line | None:
    """The line of x x for one of |x| that is 1 below a bound and 0 from it on; None where squares in f32 do
    not tell the bound from the number before it."""
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
