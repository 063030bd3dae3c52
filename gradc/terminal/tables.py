"""Tables: plain in a pipe, with rules and colors on a terminal, fitted to its width."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from typing import TYPE_CHECKING, Any, TextIO

from gradc.terminal.console import WIDTH, console, has_style

if TYPE_CHECKING:
    from rich.console import Console

GOOD, POOR, BAD = "green", "yellow", "red"
"""Styles of rows: chosen or correct, below expectation, wrong."""

REMARK = "cyan"

MIN_COLUMN = 16
"""Columns to which a column of long cells may shrink on a terminal."""

GAP = 2
"""Spaces between columns."""


@dataclass(frozen=True)
class Look:
    """Drawing style of text for a stream. `colours` is rich's color system (None: plain, without rules);
    `plain_style` keeps bold and the like without colors (NO_COLOR)."""

    width: int = WIDTH
    colours: Any = None
    plain_style: bool = False

    def console(self, stream: TextIO) -> Console:
        from rich.console import Console

        return Console(
            file=stream,
            width=self.width,
            color_system=self.colours,
            no_color=self.plain_style,
            force_terminal=self.colours is not None,
            markup=False,
            highlight=False,
            emoji=False,
        )

    def with_style(self, text: str, style: str) -> str:
        """Return the text in a style, if there are colors."""
        if self.colours is None:
            return text
        stream = StringIO()
        self.console(stream).print(text, style=style, end="", soft_wrap=True)
        return stream.getvalue()


PLAIN = Look()


def look(stream: TextIO | None) -> Look:
    """Return the style of a stream: plain in a pipe, as wide as a terminal."""
    if not has_style(stream):
        return PLAIN
    seen = console(stream)
    return Look(seen.width, seen.color_system, seen.no_color)


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    numbers: Sequence[int] = (),
    look: Look = PLAIN,
    styles: Mapping[int, str] | None = None,
) -> str:
    """Format a table; the columns in `numbers` are right-aligned. `styles` are those of rows, by index.

    With colors the header has a rule, and long cells are wrapped as far as that leaves words readable.
    Without colors, a line is as long as its cells.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    rows, styled = list(rows), look.colours is not None
    grid = Table(
        box=SIMPLE_HEAD if styled and any(header) else None,
        show_edge=False,
        pad_edge=False,
        show_header=any(header),
        padding=(0, 1 if styled else 2, 0, 0),
        header_style="bold",
        border_style="dim",
    )
    least = 0
    for index, name in enumerate(header):
        is_number = index in numbers
        title = name.replace(" ", "\n") if styled and is_number else name
        width = _width([*title.split("\n"), *(row[index] for row in rows)])
        wraps = styled and not is_number and width > MIN_COLUMN
        least += GAP + (MIN_COLUMN if wraps else width)
        justify = "right" if is_number else "left"
        grid.add_column(title, justify=justify, no_wrap=not wraps, overflow="fold" if wraps else "ellipsis")
    for index, row in enumerate(rows):
        grid.add_row(*row, style=(styles or {}).get(index, ""))
    look = replace(look, width=max(look.width, least))
    stream = StringIO()
    look.console(stream).print(grid)
    return "\n".join(line.rstrip() for line in stream.getvalue().strip("\n").splitlines())


def _width(cells: Iterable[str]) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, cells))
