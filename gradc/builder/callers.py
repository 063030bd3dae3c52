"""The user's line that called gradc: the place of what has no file of its own."""

from __future__ import annotations

import os
import sys

import numpy as np
import xdsl

import dialects
import passes
from dialects.support.diagnostics import Position


def caller() -> Position | None:
    """The innermost line that is neither ours nor Python's; a frame has no column.

    None if there is none: for a thread of a pool, say, that was given one of our functions.
    """
    frame = sys._getframe(1)
    while frame is not None and _is_between(frame.f_code.co_filename):
        frame = frame.f_back
    return None if frame is None else Position(frame.f_code.co_filename, frame.f_lineno, 1)


def _is_between(file: str) -> bool:
    """Whether code may stand between gradc and who called it: our own, a decorator or a context manager of
    Python's, numpy's `vectorize`."""
    if file.startswith(INSTALLED):
        return file.startswith(OURS)
    return file.startswith((*OURS, *PYTHONS))


def _folder(file: str | None) -> str:
    assert file is not None
    return os.path.join(os.path.dirname(file), "")


GRADC = _folder(os.path.dirname(__file__))
OURS = (GRADC, *(_folder(package.__file__) for package in (passes, dialects, xdsl, np)))
PYTHONS = (_folder(os.__file__), "<frozen ", "<__array_function__")
INSTALLED = tuple(os.path.join(PYTHONS[0], name, "") for name in ("site-packages", "dist-packages"))
"""Folders within Python's own, of code that may be the user's."""
