"""The line that a diagnostic is about, as compilers show it: its number, the text, a caret below.

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
from gradc.files.reading import KEPT, PATHS, QUOTABLE

FOLLOWING = 3
"""Lines shown after one that ends with the bracket that is meant: what it opens is meant as well."""

GUTTER = 8
"""Columns before the text for numbers of up to five digits."""

TAB = "    "
CUT = "..."

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\[[^\[\]{}]*\]|[\w.%@#!$+-]+')
_BRACKET = re.compile(r"[\[{(]\s*")


def quote(diagnostic: Diagnostic, width: int) -> str:
    """The quoted line and the caret, each in up to `width` columns; '' where the line cannot be had.

    After a line that ends with the bracket that is meant come the next few.
    """
    place = diagnostic.position
    lines = _lines(place) if place else ()
    if place is None or not 1 <= place.line <= len(lines) or not lines[place.line - 1].strip():
        return ""
    line = lines[place.line - 1]
    room = max(width - GUTTER, 20)
    rows = _marked(line, place, room)
    opens = _BRACKET.fullmatch(line, place.column - 1) is not None
    following = lines[place.line : place.line + FOLLOWING] if opens else ()
    rest = (_row(place.line + 1 + i, _shown(text, room)) for i, text in enumerate(following))
    return "\n".join([_row(place.line, rows[0]), _row(None, rows[1]), *rest])


def _row(number: int | None, text: str) -> str:
    return f"{'' if number is None else number:>5} | {text}".rstrip()


def _marked(line: str, place: Position, room: int) -> tuple[str, str]:
    """The part of a line that fits around a place in it, and the caret under that."""
    start, end = _extent(line, place)
    first, last = _window(line, start, room)
    before = (CUT if first else "") + _escaped(line[first:start])
    text = before + _escaped(line[start:last]) + (CUT if last < len(line) else "")
    long = cell_len(_escaped(line[start : min(end, last)]))
    return text, " " * cell_len(before) + "^" + "~" * (long - 1)


def _extent(line: str, place: Position) -> tuple[int, int]:
    """Where what is meant begins and ends; a place in Python is the whole line."""
    if _is_python(place.file):
        return len(line) - len(line.lstrip()), len(line.rstrip())
    start = min(place.column - 1, len(line))
    token = _TOKEN.match(line, start)
    return start, token.end() if token else start + 1


def _window(line: str, start: int, room: int) -> tuple[int, int]:
    """The characters of a line that are shown: all if they fit, else some on both sides of one."""
    if len(line) <= room and cell_len(_escaped(line)) <= room:
        return 0, len(line)
    room -= 2 * len(CUT)
    first = _reach(line, start, -1, room // 2)
    last = _reach(line, start, 1, room - cell_len(_escaped(line[first:start])))
    return _reach(line, start, -1, room - cell_len(_escaped(line[start:last]))), last


def _reach(line: str, start: int, step: int, room: int) -> int:
    """How far from a character one can go, in one direction, in so many columns."""
    place, least = start, max(0, start - room)
    most = min(len(line), start + room)
    while least < place if step < 0 else place < most:
        room -= cell_len(_escaped(line[place if step > 0 else place - 1]))
        if room < 0:
            break
        place += step
    return place


def _shown(line: str, room: int) -> str:
    _, last = _window(line, 0, room)
    return _escaped(line[:last]) + (CUT if last < len(line) else "")


def _escaped(text: str) -> str:
    return printable(text.replace("\t", TAB))


def _is_python(file: str) -> bool:
    return file.endswith(".py") or file in linecache.cache


def _lines(place: Position) -> tuple[str, ...]:
    """The lines of a source as far as it can be read again: not if it is gone, a device or huge."""
    if place.file in KEPT:
        return _split(KEPT[place.file])
    if place.file in linecache.cache or place.file.endswith(".py"):
        return tuple(line.rstrip("\n") for line in linecache.getlines(place.file))
    path = PATHS.get(place.file, place.file)
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
    """As the importers count lines: by newlines alone, and without a byte order mark."""
    return tuple(line.removesuffix("\r") for line in data.decode("utf-8-sig", "replace").split("\n"))
