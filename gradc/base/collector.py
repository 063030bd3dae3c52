"""Python's garbage collector, told to look less often while IR is made."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

NEW_OBJECTS = 100_000
"""Objects that are made between two collections. IR lives until the pass after the one that made it: at
Python's default of some hundred objects the collector takes a fifth of a compilation and finds little."""

_lock = threading.Lock()
_running: set[object] = set()
"""A token for each compilation that runs."""

_before: list[tuple[int, int, int]] = []
"""Python's own thresholds, from before the first of them: the last one restores them."""


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collect only after NEW_OBJECTS, unless the user has set more, or switched collections off."""
    token = object()
    try:
        _begin(token)
        yield
    finally:
        try:
            _end(token)
        except BaseException:  # an interrupt: what it left undone is done again
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
    """Wherever `_begin`, or this itself, was interrupted."""
    with _lock:
        _running.discard(token)
        if not _running and _before:
            gc.set_threshold(*_before[0])
            _before.clear()
