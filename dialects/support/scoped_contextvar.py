"""A context-local value that is restored even if the block is interrupted.

An interrupt may come between any two lines, so the change is made within the `try` whose `finally` restores
the old value, whether or not the change was made.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def override_context(variable: ContextVar[T], value: T) -> Generator[None]:
    """Set the variable while the block runs. It needs a value or a default before."""
    before = variable.get()
    try:
        variable.set(value)
        yield
    finally:
        variable.set(before)
