"""What holds for as long as a block runs, and no longer, whenever an interrupt comes.

An interrupt may come between any two lines. So what a block changes is changed within the `try` whose
`finally` sets it right again, and that does so whether or not the change was made.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def during(variable: ContextVar[T], value: T) -> Generator[None]:
    """The variable has this value while the block runs. It needs a value, or a default, before."""
    before = variable.get()
    try:
        variable.set(value)
        yield
    finally:
        variable.set(before)
