"""Ctrl-C between any two lines, on demand."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from types import FrameType
from typing import Any


def entered_interrupted(enter: Callable[[], AbstractContextManager[Any]], *files: str) -> Iterator[int]:
    """The number of each line of `files` that runs before the block of `enter()` does; by then that line
    was interrupted, and so the block left or not begun."""
    number, reached = 0, False
    while not reached:
        number += 1
        reached = _interrupted(enter, number, files)
        yield number


def _interrupted(
    enter: Callable[[], AbstractContextManager[Any]], number: int, files: tuple[str, ...]
) -> bool:
    """Whether the block was reached before so many lines had run."""
    left, inside = number, False
    lines: dict[FrameType, int] = {}

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal left
        del argument
        if inside or not frame.f_code.co_filename.endswith(files):
            return trace
        # Python looks for signals after calls: never between the end of a `with` and its `__exit__`
        is_back = frame.f_lineno < lines.get(frame, 0)
        lines[frame] = frame.f_lineno
        if event == "line" and not is_back:
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with enter():
            inside = True
    except KeyboardInterrupt:
        return False
    finally:
        sys.settrace(before)
    return True
