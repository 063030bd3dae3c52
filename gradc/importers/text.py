"""Text of a source file: decoding, limits, positions."""

from __future__ import annotations

import codecs
import re
import sys

from dialects.support.diagnostics import Diagnostic, GradcError, Position
from dialects.support.limits import LimitError, current, too_large

_BRACKETS = re.compile(r'"(?:[^"\\\n]++|\\.)*+"?|//[^\n]*+|->|[\[{(<]|[\]})>]')
_OPENING = frozenset("[{(<")
_CLOSING = frozenset("]})>")

_CALLS_PER_BRACKET = 12
"""Maximum depth of parser calls per nested bracket."""


def decode(text: str | bytes, file: str) -> str:
    """Return the text without a byte order mark; raise GradcError if it is not UTF-8."""
    if isinstance(text, str):
        return text.removeprefix("\ufeff")
    data = text.removeprefix(codecs.BOM_UTF8)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        read = data[: error.start].decode()
        position = Position(file, read.count("\n") + 1, len(read) - read.rfind("\n"))
        message = f"not UTF-8 text: byte 0x{data[error.start]:02x}"
        raise GradcError(Diagnostic("error", message, position=position)) from None


def check_nesting(text: str, file: str) -> None:
    """Raise LimitError if brackets are nested too deeply, and raise Python's recursion limit accordingly."""
    depth, most = 0, current().nesting
    for found in _BRACKETS.finditer(text):
        token = found[0]
        if token in _OPENING:
            depth += 1
            if depth > most:
                raise _too_deep(text, found.start(), file, depth)
        elif token in _CLOSING and depth:
            depth -= 1
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 1000 + _CALLS_PER_BRACKET * most))


def check_commas(text: str, file: str) -> None:
    """Raise LimitError if the text has too many commas, that is, list elements."""
    if (count := text.count(",")) <= current().commas:
        return
    hint = 'a constant as dense<"0x..."> is read in one piece'
    message = f"{too_large('commas', count, 'commas of an MLIR text')}; {hint}"
    raise LimitError(Diagnostic("error", message, position=Position(file, 1, 1)))


def _too_deep(text: str, offset: int, file: str, depth: int) -> LimitError:
    message = too_large("nesting", depth, "nested too deeply: brackets around this one")
    return LimitError(Diagnostic("error", message, position=PositionIndex(text, file).of(offset)))


class PositionIndex:
    """Line and column of offsets in a text, computed incrementally from the previous lookup."""

    def __init__(self, text: str, file: str):
        self._text = text
        self._file = file
        self._known = (0, 1, 0)

    def of(self, offset: int) -> Position:
        last, line, start = self._known
        if offset < last:
            last, line, start = 0, 1, 0
        ends = self._text.count("\n", last, offset)
        if ends:
            line, start = line + ends, self._text.rindex("\n", last, offset) + 1
        self._known = (offset, line, start)
        return Position(self._file, line, offset - start + 1)
