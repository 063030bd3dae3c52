"""The taps of a kernel, as the numpy references go through them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from math import prod

from dialects.support import limits

LEAST = 2**13
"""Elements that are read in the time that a tap takes in any case."""


def taps_of(kernel: Sequence[int], elements: int) -> Iterator[tuple[int, ...]]:
    """Each tap, one by one, for which so many elements are read; LimitError where that takes too long."""
    what = "elements that the reference reads, tap by tap"
    limits.check("reference-reads", prod(kernel) * max(elements, LEAST), what)
    return itertools.product(*map(range, kernel))
