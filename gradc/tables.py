"""Plain tables for the terminal and for pipes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import StringIO

from rich.console import Console
from rich.table import Table

WIDTH = 200
"""Columns; nothing is wrapped or cut below that, whatever the terminal."""


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = (), width: int = WIDTH
) -> str:
    """Columns aligned, without rules or colours; those listed in `numbers` are aligned right."""
    grid = Table(box=None, pad_edge=False, show_header=any(header), padding=(0, 2, 0, 0))
    for index, name in enumerate(header):
        grid.add_column(name, justify="right" if index in numbers else "left", no_wrap=True)
    for row in rows:
        grid.add_row(*row)
    stream = StringIO()
    Console(file=stream, width=width, markup=False, highlight=False, color_system=None).print(grid)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())
