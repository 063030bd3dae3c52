"""Properties of a stream: a terminal with width and colors, or a pipe; each stream has its own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 280
"""Columns of a pipe; shorter lines are neither wrapped nor cut."""


def is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # it is closed
        return False


def has_style(stream: TextIO | None) -> bool:
    """Return whether a stream takes colors; rich then obeys NO_COLOR and TERM."""
    return stream is not None and (is_terminal(stream) or bool(os.environ.get("FORCE_COLOR")))


def console(stream: TextIO | None) -> Console:
    """Return a rich console as wide as the terminal, or WIDTH; text is not interpreted as markup."""
    from rich.console import Console

    width = None if is_terminal(stream) else WIDTH
    return Console(file=stream, width=width, markup=False, highlight=False, emoji=False)


def width_of(stream: TextIO | None) -> int:
    """Return the number of columns."""
    return console(stream).width if is_terminal(stream) else WIDTH
