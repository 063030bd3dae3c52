"""The taps of a kernel, as the numpy references go through them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from dialects.support import limits

LEAST = 2**13
"""Elements that are read in the time that a tap takes in any case."""


def taps_of(kernel: Sequence[int], elements: int) -> Iterator[tuple[int, ...]]:
    """Each tap, one by one, for which so many elements are read; LimitError where that takes too long."""
    what = "elements that the reference reads, tap by tap"
    limits.check("reference-reads", prod(kernel) * max(elements, LEAST), what)
    return itertools.product(*map(range, kernel))


def over_channels(weights: np.ndarray, data: np.ndarray) -> np.ndarray:
    """The sums over the channels of a group: weights (G, O, C), data (N, G, C, X...) -> (N, G, O, X...)."""
    sizes = data.shape[3:]
    flat = data.reshape(*data.shape[:3], prod(sizes))
    found = np.matmul(np.ascontiguousarray(weights), flat)
    return found.reshape(*found.shape[:3], *sizes)
