"""Choice of checkpoints: the activations to keep until the backward pass, so that its peak memory is least.

The forward ops form a sequence of segments. A checkpoint is a value that crosses the end of a segment. Of the
other activations, those of one segment at a time are in memory (Chen et al., Training deep nets with
sublinear memory cost, 2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import inf

from xdsl.ir import SSAValue

MOST_ENDS = 120
"""Number of places that are considered as ends of segments."""

SEARCHES = 12
"""Bisections of the peak memory."""

LEAST_GAIN = 0.9
"""Largest ratio of the peak with checkpoints to that without for which ops are written twice."""


@dataclass(frozen=True)
class Activation:
    """A value of the forward pass. `start` and `end` are the positions of the op that computes it, and of the
    last forward op that reads it. `saved`: an op of the backward pass reads it."""

    value: SSAValue
    size: int
    start: int
    end: int
    saved: bool


def choose_ends(activations: Sequence[Activation], count: int) -> list[int]:
    """Return the last positions of all segments but the last one, of `count` positions; [] if checkpoints
    save little."""
    plain = sum(activation.size for activation in activations if activation.saved)
    crossing = _crossing(activations, count)
    ends = _candidates(crossing)
    held = [_bytes_from(activations, end) for end in (*ends, count)]
    high, low, found = float(plain), 0.0, list[int]()
    for _ in range(SEARCHES):
        limit = (low + high) / 2
        path = _least_kept(ends, [*(crossing[end] for end in ends), 0], held, limit)
        if path is None:
            low = limit
        else:
            high, found = limit, path
    return found if high <= LEAST_GAIN * plain else []


def _crossing(activations: Sequence[Activation], count: int) -> list[int]:
    """Return for each position the bytes of the activations that later ops of the forward pass read."""
    steps = [0] * (count + 1)
    for activation in activations:
        steps[activation.start] += activation.size
        steps[activation.end] -= activation.size
    return list(accumulate(steps))[:count]


def _bytes_from(activations: Sequence[Activation], end: int) -> list[int]:
    """Return for each position up to an end the bytes of the saved activations of the ops from the position
    to the end, without those that cross the end."""
    sizes = [0] * (end + 2)
    for activation in activations:
        if activation.saved and activation.start <= end and activation.end <= end:
            sizes[activation.start] += activation.size
    return list(accumulate(reversed(sizes)))[::-1]


def _candidates(crossing: Sequence[int]) -> list[int]:
    """Return positions that fewer bytes cross than their neighbours, spread over all positions."""
    around = [inf, *crossing, inf]
    least = [i for i, size in enumerate(crossing) if size <= around[i] and size <= around[i + 2]]
    width = -(-len(least) // MOST_ENDS)
    parts = (least[first : first + width] for first in range(0, len(least), width or 1))
    return [min(part, key=crossing.__getitem__) for part in parts]


def _least_kept(
    ends: Sequence[int], crossing: Sequence[int], held: Sequence[Sequence[int]], limit: float
) -> list[int] | None:
    """Return the ends of the segments with the fewest bytes of checkpoints, such that the checkpoints up to
    the end of a segment and its other activations stay within the limit; None if there are none."""
    starts = [0, *(end + 1 for end in ends)]
    kept: list[float] = [0, *([inf] * (len(ends) + 1))]
    before = [0] * len(kept)
    for index in range(1, len(kept)):
        for other in range(index):
            total = kept[other] + crossing[index - 1]
            if total < kept[index] and total + held[index - 1][starts[other]] <= limit:
                kept[index], before[index] = total, other
    if kept[-1] == inf:
        return None
    path, index = list[int](), before[-1]
    while index:
        path.append(ends[index - 1])
        index = before[index]
    return path[::-1]
