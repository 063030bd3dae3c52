"""The taps of a kernel, as the numpy references go through them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from math import prod

from dialects.support import limits, work
from dialects.support.work import LEAST

PER_STACK = 2**8
"""Numbers that are read in the time that one of many small matrix products takes in any case."""

PER_READ = 16
"""Products of a matrix product that take as long as one number that is read."""


def asked_taps(
    kernel: Sequence[int], elements: int, *, products: int = 0, taken: int = 0
) -> Iterator[tuple[int, ...]]:
    """`taps_of` for a run, of which the reads are counted as `ask_taps` does."""
    ask_taps(kernel, elements, products=products, taken=taken)
    return taps_of(kernel, elements)


def ask_taps(kernel: Sequence[int], elements: int, *, products: int = 0, taken: int = 0) -> None:
    """Ask for what all taps read, so many elements and `products` of matrix products each, and for `taken`
    elements of float64 in all."""
    work.ask(prod(kernel) * (max(elements, LEAST) + products // PER_READ), 8 * taken)


def taps_of(kernel: Sequence[int], elements: int) -> Iterator[tuple[int, ...]]:
    """Each tap, one by one, for which so many elements are read; LimitError where that takes too long."""
    what = "elements that the reference reads, tap by tap"
    limits.check("reference-reads", prod(kernel) * max(elements, LEAST), what)
    return itertools.product(*map(range, kernel))
