"""Line plots in a terminal, in braille dots or, where the stream has none, in ASCII."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TextIO

from gradc.terminal.numbers import number

LOG_FROM = 30.0
"""Ratio of the largest to the smallest positive value from which the axis is logarithmic."""

_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
"""Bits of a braille character's dots: two columns of four."""


def plot(values: Sequence[float], width: int, height: int = 8, *, braille: bool = True) -> str:
    """Return the plot of a series, at most `width` columns wide, with the extremes at its left.

    Each dot is the mean of neighbouring values. Values that are not finite are left out.
    """
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return "no finite values"
    is_log = min(finite) > 0 and max(finite) / min(finite) >= LOG_FROM
    across, down = (2, 4) if braille else (1, 1)
    room = max(min(width, 78) - 12, 8) * across
    columns = _means(values, room)
    scaled = [math.log(mean) if is_log and math.isfinite(mean) else mean for mean in columns]
    low, high = _extremes(scaled)
    rows = height * down
    cells: dict[tuple[int, int], int] = {}
    for x, value in enumerate(scaled):
        if math.isfinite(value):
            y = round((high - value) / (high - low) * (rows - 1)) if high > low else rows - 1
            dot = _DOTS[x % across][y % down]
            cells[y // down, x // across] = cells.get((y // down, x // across), 0) | dot
    top, bottom = (number(math.exp(end) if is_log else end) for end in (high, low))
    lines = []
    for row in range(height):
        label = top if row == 0 else bottom if row == height - 1 else ""
        drawn = (_character(cells.get((row, x), 0), braille) for x in range(-(-len(scaled) // across)))
        lines.append(f"{label:>10} | {''.join(drawn)}".rstrip())
    return "\n".join([*lines, f"{'log scale' if is_log else '':>10}   1 to {len(values):,}"])


def has_braille(stream: TextIO | None) -> bool:
    """Return whether the encoding of a stream has braille characters."""
    try:
        "\u28ff".encode(getattr(stream, "encoding", None) or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _means(values: Sequence[float], most: int) -> list[float]:
    """Return the means of at most `most` runs of neighbours; NaN for a run without finite values."""
    count = min(most, len(values))
    edges = [len(values) * index // count for index in range(count + 1)]
    runs = [values[first:last] for first, last in pairwise(edges)]
    return [_mean([value for value in run if math.isfinite(value)]) for run in runs]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def _extremes(values: Sequence[float]) -> tuple[float, float]:
    finite = [value for value in values if math.isfinite(value)]
    return min(finite), max(finite)


def _character(dots: int, braille: bool) -> str:
    if not dots:
        return " "
    return chr(0x2800 + dots) if braille else "*"
