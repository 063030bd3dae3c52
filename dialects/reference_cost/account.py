"""Time and memory of the numpy reference, checked against limits before they are spent.

An `Account` covers one run: it adds up the reads of its ops and the bytes of live values. Work outside a run,
such as constant folding, is checked alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from dialects.support import limits
from dialects.support.scoped_contextvar import override_context

READS = "numbers that the reference reads, of the ops so far"
BYTES = "bytes that the reference holds while it computes this"

LEAST = 2**13
"""Fixed time of a numpy call, in reads."""

STEP = 2**15
"""Fixed time to interpret an op, in reads."""

PYTHON = 2**10
"""Time of one iteration of a Python loop, in reads."""


@dataclass(frozen=True)
class Work:
    """Cost of an op: `reads`, a measure of its time, and peak temporary `bytes` without its operands."""

    reads: int = 0
    bytes: int = 0


@dataclass
class Account:
    """Reads so far, and bytes of live values, of a run."""

    reads: int = 0
    held: int = 0

    def spend(self, work: Work) -> None:
        """Account for work that is about to be done. Raises LimitError."""
        limits.check("reference-reads", self.reads + work.reads, READS)
        limits.check("reference-bytes", self.held + work.bytes, BYTES)
        self.reads += work.reads


_current: ContextVar[Account | None] = ContextVar("account", default=None)


def charge(reads: int = 0, taken: int = 0) -> None:
    """Account for reads and bytes in the current run. Raises LimitError."""
    (_current.get() or Account()).spend(Work(reads, taken))


@contextlib.contextmanager
def accounting() -> Generator[Account]:
    """Use the account of the current run, or a new one, within the context."""
    account = _current.get()
    if account is not None:
        yield account
        return
    with override_context(_current, account := Account()):
        yield account


@contextlib.contextmanager
def new_account() -> Generator[Account]:
    with override_context(_current, account := Account()):
        yield account


@contextlib.contextmanager
def loop_storage() -> Generator[Callable[[tuple[Any, ...]], tuple[Any, ...]]]:
    """Return a function that accounts for a loop iteration's kept values and returns them.

    They count twice, since they are concatenated at the end.
    """
    before, held = _current.get(), 0
    account = before or Account()

    def keep(values: tuple[Any, ...]) -> tuple[Any, ...]:
        nonlocal held
        taken = sum(map(bytes_of, values))
        account.spend(Work(LEAST, held + 2 * taken))
        account.held += taken
        held += taken
        return values

    try:
        yield keep
    finally:
        account.held -= held


WORD = 64
"""Bytes of a string."""


def bytes_of(value: Any) -> int:
    """Return the bytes of a run's value: an array, or a list of them."""
    total, left = 0, [value]
    while left:
        each = left.pop()
        if isinstance(each, np.ndarray):
            total += each.size * (WORD if each.dtype.kind in "OUT" else each.itemsize)
        elif isinstance(each, list):
            left += cast(list[Any], each)
    return total
