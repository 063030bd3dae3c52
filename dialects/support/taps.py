"""Iteration over the taps of a kernel in the numpy reference, with its cost."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from math import prod

from dialects.reference_cost import account
from dialects.reference_cost.account import LEAST
from dialects.support import limits

PER_STACK = 2**8
"""Fixed time of one of many small matrix products, in reads."""

PER_READ = 16
"""Multiply-adds of a matrix product that take as long as one read."""


def iter_taps(
    kernel: Sequence[int], elements: int, *, products: int = 0, taken: int = 0
) -> Iterator[tuple[int, ...]]:
    """Account for the reads of all taps as `count_taps` does, then return `taps_of`."""
    count_taps(kernel, elements, products=products, taken=taken)
    return taps_of(kernel, elements)


def count_taps(kernel: Sequence[int], elements: int, *, products: int = 0, taken: int = 0) -> None:
    """Account for all taps, each with `elements` reads and `products` multiply-adds, and `taken` float64
    elements."""
    account.charge(prod(kernel) * (max(elements, LEAST) + products // PER_READ), 8 * taken)


def taps_of(kernel: Sequence[int], elements: int) -> Iterator[tuple[int, ...]]:
    """Iterate over the taps, each reading `elements`. Raises LimitError if that takes too long."""
    what = "elements that the reference reads, tap by tap"
    limits.check("reference-reads", prod(kernel) * max(elements, LEAST), what)
    return itertools.product(*map(range, kernel))
