"""Periodic samplings.

With the step S = X / Y = Q / P in lowest terms, t(y + P) = t(y) + Q: the sampling of diff_dst repeats after P
positions, Q positions of diff_src further on. The same holds for m periods together.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import ClassVar

from dialects.grad.sampling import AxisSampling
from passes.builder.budget import CompileTimeCost
from passes.resize.axis_forms.base import MATRIX_SPREADS_NONFINITE, AxisForm


class PeriodicForm(AxisForm, ABC):
    """Form whose numbers are read off the middle of three periods, and the ends of the axis."""

    NODES: ClassVar[int]
    """Limit on the nodes created."""

    @abstractmethod
    def sizes(self, sampling: AxisSampling) -> tuple[int, int, int]:
        """Return the positions that a part of the axis reads and yields, and the number of parts."""

    def refuses(self, sampling: AxisSampling) -> str | None:
        return no_period(sampling)

    def compile_time_cost(self, sampling: AxisSampling) -> CompileTimeCost:
        if self.refuses(sampling):
            return CompileTimeCost()
        p, q, _ = self.sizes(sampling)
        return CompileTimeCost(3 * p * (q + 2), self.NODES)

    def spreads_nonfinite(self, sampling: AxisSampling) -> str | None:
        return MATRIX_SPREADS_NONFINITE


def no_period(sampling: AxisSampling) -> str | None:
    """Return why the sampling has no period, or None."""
    if sampling.step != Fraction(sampling.x, sampling.y):
        return f"the step {sampling.step} is not X / Y = {sampling.x}/{sampling.y}: no period divides both"
    if math.gcd(sampling.x, sampling.y) < 2:
        return f"sizes {sampling.x} and {sampling.y} have no common divisor: no period"
    return None


def period_sizes(
    sampling: AxisSampling, most: int, dearness: Callable[[int], tuple[int, int]]
) -> tuple[int, int, int]:
    """Return m P, m Q and the count (2 or more): of up to `most` periods, with least `dearness`."""
    common = math.gcd(sampling.x, sampling.y)
    p, q = sampling.y // common, sampling.x // common
    multiples = [m for m in range(1, min(common // 2, most) + 1) if common % m == 0]
    m = min(multiples, key=lambda m: dearness(m * q))
    return m * p, m * q, common // m


def three_periods(sampling: AxisSampling, p: int, q: int) -> AxisSampling:
    """Return three blocks of p positions of diff_dst to q of diff_src; the middle one is not clamped."""
    return AxisSampling(3 * q, 3 * p, sampling.step, sampling.interpolation, sampling.coordinates)
