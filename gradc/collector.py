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
_thresholds: list[tuple[int, int, int]] = []
"""Python's own, once for each compilation that runs: the first one's are restored by the last."""


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collect only after NEW_OBJECTS, unless the user has set more, or switched collections off."""
    with _lock:
        _thresholds.append(_thresholds[0] if _thresholds else gc.get_threshold())
        young, *older = _thresholds[0]
        if 0 < young < NEW_OBJECTS:
            gc.set_threshold(NEW_OBJECTS, *older)
    try:
        yield
    finally:
        with _lock:
            before = _thresholds.pop()
            if not _thresholds:
                gc.set_threshold(*before)
