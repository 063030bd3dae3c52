"""Less frequent garbage collection while IR is built."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

NEW_OBJECTS = 100_000
"""Allocations between two collections. IR lives until the next pass: at Python's default of some hundred
objects, collection takes a fifth of a compilation and frees little."""

_lock = threading.Lock()
_running: set[object] = set()
"""One token per running compilation."""

_before: list[tuple[int, int, int]] = []
"""The thresholds before the first compilation began, which the last one to end restores."""


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collect only after NEW_OBJECTS, unless the user has set more or disabled collection."""
    token = object()
    try:
        _begin(token)
        yield
    finally:
        try:
            _end(token)
        except BaseException:  # interrupted: finish the cleanup
            _end(token)
            raise


def _begin(token: object) -> None:
    with _lock:
        if not _running:
            _before[:] = [gc.get_threshold()]
        _running.add(token)
        young, *older = _before[0]
        if 0 < young < NEW_OBJECTS:
            gc.set_threshold(NEW_OBJECTS, *older)


def _end(token: object) -> None:
    """Undo `_begin`; may be called again after an interrupt of either."""
    with _lock:
        _running.discard(token)
        if not _running and _before:
            gc.set_threshold(*_before[0])
            _before.clear()
