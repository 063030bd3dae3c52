"""Budget and progress of measurements."""

from __future__ import annotations

from collections.abc import Callable

BUDGET = 60.0
"""Default seconds of measuring for a graph."""

Progress = Callable[[int, int, str], None]
"""Callback with the problems done, their total, and the next one."""


def no_progress(done: int, total: int, problem: str) -> None:
    pass
