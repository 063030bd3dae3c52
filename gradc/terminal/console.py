"""What a stream is: a person's terminal, with a width and colours, or a pipe. Each stream by itself."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 280
"""Columns of a pipe: nothing is wrapped or cut below that."""


def is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # it is closed
        return False


def has_style(stream: TextIO | None) -> bool:
    """Whether colours may be asked for; rich goes by NO_COLOR and TERM then."""
    return stream is not None and (is_terminal(stream) or bool(os.environ.get("FORCE_COLOR")))


def console(stream: TextIO | None) -> Console:
    """What writes to a stream: as wide as the terminal, or WIDTH; text is taken as it is."""
    from rich.console import Console

    width = None if is_terminal(stream) else WIDTH
    return Console(file=stream, width=width, markup=False, highlight=False, emoji=False)


def width_of(stream: TextIO | None) -> int:
    """Columns."""
    return console(stream).width if is_terminal(stream) else WIDTH
