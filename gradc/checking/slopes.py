"""Slopes along a line: by differences of a function in float64, held against what a gradient says.

Differences are trusted where two steps agree, and both sides of the point do: not across a kink, and not
where roundings are all that is left of a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

STEP = 1e-5
"""Over the size of what is moved."""

NEAR = STEP / 4
"""The second step."""

AGREE = 1e-5
"""What two steps may differ by, over the size of the slope: truncation and roundings are far below."""

SIDES = 1e-2
"""What the slopes of the two sides may differ by: they differ by curvature, at a kink by about all."""

RTOL = 1e-4
"""What a gradient may differ by: f32 constants of rules are good to 1e-7."""

ROUNDING = 1e-14
"""Of a sum of the function's results, over the sum of their magnitudes."""

Verdict = Literal["right", "wrong", "undecided"]


@dataclass(frozen=True)
class Slope:
    """Along one direction: what the gradient says, what differences do, and what is to be thought of it."""

    said: float
    found: float
    verdict: Verdict
    error: float = 0.0


def slope(value: Callable[[float], tuple[float, float]], said: float, size: float) -> Slope:
    """`value(t)` is the function at t along the line, and the sum of the magnitudes of its terms; `size` is
    the root of the sum of squares of the terms of `said`, below which it may be by cancellation."""
    at: dict[float, float] = {}
    noise = 0.0
    for t in (0.0, STEP, -STEP, NEAR, -NEAR):
        at[t], magnitude = value(t)
        noise = max(noise, ROUNDING * magnitude / NEAR)
    coarse = (at[STEP] - at[-STEP]) / (2 * STEP)
    found = (at[NEAR] - at[-NEAR]) / (2 * NEAR)
    if not np.isfinite([said, coarse, found, size]).all():
        return Slope(said, found, "undecided")
    scale = max(abs(found), size)
    right, left = (at[NEAR] - at[0.0]) / NEAR, (at[0.0] - at[-NEAR]) / NEAR
    smooth = abs(right - left) <= SIDES * scale + noise
    if not smooth or abs(coarse - found) > AGREE * scale + noise:
        return Slope(said, found, "undecided")
    bound = RTOL * scale + 2 * noise
    error = abs(found - said)
    if error > bound and error <= abs(right - left) and _at_kink(at, noise):
        return Slope(said, found, "undecided")
    return Slope(said, found, "wrong" if error > bound else "right", error / max(scale, 1e-300))


def _at_kink(at: Mapping[float, float], noise: float) -> bool:
    """Whether the slopes of the two sides differ by as much at both steps, where by curvature they would by
    their ratio: a few of many terms may have a kink at the point."""
    near, far = (abs(at[t] - 2 * at[0.0] + at[-t]) / t for t in (NEAR, STEP))
    return near > 2 * noise and 2 * near > far
