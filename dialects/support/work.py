"""What the numpy reference takes of time and memory, asked for before it is taken.

An `Account` is of one run: what its ops read adds up, and the values that it holds take memory beside what
an op takes while it runs. What is asked for without one, as when a constant is folded, is held against the
limits by itself.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from dialects.support import limits
from dialects.support.during import during

READS = "numbers that the reference reads, of the ops so far"
BYTES = "bytes that the reference holds while it computes this"

LEAST = 2**13
"""Numbers that are read in the time that a call of numpy's takes in any case."""

STEP = 2**15
"""Numbers that are read in the time that it takes to interpret an op, whatever it is."""

PYTHON = 2**10
"""Numbers that are read in the time of a step of a loop in Python."""


@dataclass(frozen=True)
class Work:
    """`reads`: numbers that an op reads, in the time of which it runs; `bytes`: what it takes while it runs,
    beside its operands."""

    reads: int = 0
    bytes: int = 0


@dataclass
class Account:
    """What a run has read, and the bytes that it holds."""

    reads: int = 0
    held: int = 0

    def ask(self, work: Work) -> None:
        """Count work that is about to be done. Raises LimitError where that is beyond a limit."""
        limits.check("reference-reads", self.reads + work.reads, READS)
        limits.check("reference-bytes", self.held + work.bytes, BYTES)
        self.reads += work.reads


_current: ContextVar[Account | None] = ContextVar("account", default=None)


def ask(reads: int = 0, taken: int = 0) -> None:
    """Count, of the run that goes on, numbers that are about to be read and bytes that are about to be taken.

    Raises LimitError where that is beyond a limit.
    """
    (_current.get() or Account()).ask(Work(reads, taken))


@contextlib.contextmanager
def accounting() -> Generator[Account]:
    """An account for as long as the context lasts: that of the run that goes on, or else a new one."""
    account = _current.get()
    if account is not None:
        yield account
        return
    with during(_current, account := Account()):
        yield account


@contextlib.contextmanager
def new_account() -> Generator[Account]:
    with during(_current, account := Account()):
        yield account


@contextlib.contextmanager
def keeping() -> Generator[Callable[[tuple[Any, ...]], tuple[Any, ...]]]:
    """For what is kept of each step of a loop until it ends: a function that counts a step's values and gives
    them back. They are there twice when all are put side by side."""
    before, held = _current.get(), 0
    account = before or Account()

    def keep(values: tuple[Any, ...]) -> tuple[Any, ...]:
        nonlocal held
        taken = sum(map(bytes_of, values))
        account.ask(Work(LEAST, held + 2 * taken))
        account.held += taken
        held += taken
        return values

    try:
        yield keep
    finally:
        account.held -= held


WORD = 64
"""Bytes that a string takes."""


def bytes_of(value: Any) -> int:
    """What a value of a run takes: an array, or a list of them."""
    total, left = 0, [value]
    while left:
        each = left.pop()
        if isinstance(each, np.ndarray):
            total += each.size * (WORD if each.dtype.kind in "OUT" else each.itemsize)
        elif isinstance(each, list):
            left += cast(list[Any], each)
    return total
