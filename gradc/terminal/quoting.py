"""Quotation of the source line of a diagnostic: number, text, and a caret below.

13 |     "auto_pad": {"type": "string", "value": "same"},
   |                                             ^~~~~~
"""

from __future__ import annotations

import functools
import linecache
import os
import re
import stat

from rich.cells import cell_len

from dialects.support.diagnostics import Diagnostic, Position, printable
from gradc.files.reading import DISPLAYED_PATHS, QUOTABLE, STREAM_CONTENTS

FOLLOWING = 3
"""Lines shown after one that ends with the marked bracket, whose content is meant as well."""

GUTTER = 8
"""Columns before the text, for line numbers of up to five digits."""

TAB = "    "
CUT = "..."

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\[[^\[\]{}]*\]|[\w.%@#!$+-]+')
_BRACKET = re.compile(r"[\[{(]\s*")


def quote(diagnostic: Diagnostic, width: int) -> str:
    """Return the quoted line and the caret, each in up to `width` columns; '' if the line is unavailable.

    If the line ends with the marked bracket, the next few lines follow.
    """
    place = diagnostic.position
    lines = _lines(place) if place else ()
    if place is None or not 1 <= place.line <= len(lines) or not lines[place.line - 1].strip():
        return ""
    line = lines[place.line - 1]
    room = max(width - GUTTER, 20)
    rows = _mark(line, place, room)
    opens = _BRACKET.fullmatch(line, place.column - 1) is not None
    following = lines[place.line : place.line + FOLLOWING] if opens else ()
    rest = (_row(place.line + 1 + i, _cut_line(text, room)) for i, text in enumerate(following))
    return "\n".join([_row(place.line, rows[0]), _row(None, rows[1]), *rest])


def _row(number: int | None, text: str) -> str:
    return f"{'' if number is None else number:>5} | {text}".rstrip()


def _mark(line: str, place: Position, room: int) -> tuple[str, str]:
    """Return the part of a line around a position that fits, and the caret below it."""
    start, end = _extent(line, place)
    first, last = _window(line, start, room)
    before = (CUT if first else "") + _escape(line[first:start])
    text = before + _escape(line[start:last]) + (CUT if last < len(line) else "")
    long = cell_len(_escape(line[start : min(end, last)]))
    return text, " " * cell_len(before) + "^" + "~" * (long - 1)


def _extent(line: str, place: Position) -> tuple[int, int]:
    """Return the start and end of the marked token, or of the whole line for Python sources."""
    if _is_python(place.file):
        return len(line) - len(line.lstrip()), len(line.rstrip())
    start = min(place.column - 1, len(line))
    token = _TOKEN.match(line, start)
    return start, token.end() if token else start + 1


def _window(line: str, start: int, room: int) -> tuple[int, int]:
    """Return the range of characters to show: all if they fit, else some on both sides of `start`."""
    if len(line) <= room and cell_len(_escape(line)) <= room:
        return 0, len(line)
    room -= 2 * len(CUT)
    first = _advance(line, start, -1, room // 2)
    last = _advance(line, start, 1, room - cell_len(_escape(line[first:start])))
    return _advance(line, start, -1, room - cell_len(_escape(line[start:last]))), last


def _advance(line: str, start: int, step: int, room: int) -> int:
    """Return the index that `room` columns reach from a character in one direction."""
    place, least = start, max(0, start - room)
    most = min(len(line), start + room)
    while least < place if step < 0 else place < most:
        room -= cell_len(_escape(line[place if step > 0 else place - 1]))
        if room < 0:
            break
        place += step
    return place


def _cut_line(line: str, room: int) -> str:
    _, last = _window(line, 0, room)
    return _escape(line[:last]) + (CUT if last < len(line) else "")


def _escape(text: str) -> str:
    return printable(text.replace("\t", TAB))


def _is_python(file: str) -> bool:
    return file.endswith(".py") or file in linecache.cache


def _lines(place: Position) -> tuple[str, ...]:
    """Return the lines of a source, none if it is gone, a device or too large."""
    if place.file in STREAM_CONTENTS:
        return _split(STREAM_CONTENTS[place.file])
    if place.file in linecache.cache or place.file.endswith(".py"):
        return tuple(line.rstrip("\n") for line in linecache.getlines(place.file))
    path = DISPLAYED_PATHS.get(place.file, place.file)
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return ()
    if not stat.S_ISREG(found.st_mode) or found.st_size > QUOTABLE:
        return ()
    return _file_lines(path, found.st_mtime_ns)


@functools.lru_cache(1)
def _file_lines(path: str, modified: int) -> tuple[str, ...]:
    try:
        with open(path, "rb") as file:
            return _split(file.read(QUOTABLE))
    except OSError:
        return ()


@functools.lru_cache(1)
def _split(data: bytes) -> tuple[str, ...]:
    """Split into lines as the importers do: at newlines only, without a byte order mark."""
    return tuple(line.removesuffix("\r") for line in data.decode("utf-8-sig", "replace").split("\n"))
