"""The user's source line that called gradc, as the location of graphs built in Python."""

from __future__ import annotations

import os
import sys

import numpy as np
import xdsl

import dialects
import passes
from dialects.support.diagnostics import Position


def caller() -> Position | None:
    """Return the innermost line outside of gradc and Python's libraries (column 1).

    None if there is none, as in a pool thread that runs one of gradc's functions.
    """
    frame = sys._getframe(1)
    while frame is not None and _is_between(frame.f_code.co_filename):
        frame = frame.f_back
    return None if frame is None else Position(frame.f_code.co_filename, frame.f_lineno, 1)


def _is_between(file: str) -> bool:
    """Return whether a file is gradc's, Python's (decorators, context managers) or numpy's (`vectorize`)."""
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
"""Folders within Python's that may hold the user's code."""
