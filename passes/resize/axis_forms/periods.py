"""Samplings that repeat.

With the step S = X / Y = Q / P in lowest terms, t(y + P) = t(y) + Q: every P positions of diff_dst are
sampled alike, Q positions of diff_src further on. The same holds of m periods together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from dialects.grad.sampling import AxisSampling


def no_period(sampling: AxisSampling) -> str | None:
    """Why no part of the axis repeats, None if one does."""
    if sampling.step != Fraction(sampling.x, sampling.y):
        return f"the step {sampling.step} is not X / Y = {sampling.x}/{sampling.y}: no period divides both"
    if math.gcd(sampling.x, sampling.y) < 2:
        return f"sizes {sampling.x} and {sampling.y} have no common divisor: no period"
    return None


def period_sizes(
    sampling: AxisSampling, most: int, dearness: Callable[[int], tuple[int, int]]
) -> tuple[int, int, int]:
    """P, Q and how many: of up to `most` periods together, two or more times, the least dear of m Q."""
    common = math.gcd(sampling.x, sampling.y)
    p, q = sampling.y // common, sampling.x // common
    multiples = [m for m in range(1, min(common // 2, most) + 1) if common % m == 0]
    m = min(multiples, key=lambda m: dearness(m * q))
    return m * p, m * q, common // m


def three_periods(sampling: AxisSampling, p: int, q: int) -> AxisSampling:
    """Three blocks of p positions of diff_dst to q of diff_src. The middle one is clamped nowhere."""
    return AxisSampling(3 * q, 3 * p, sampling.step, sampling.interpolation, sampling.coordinates)
