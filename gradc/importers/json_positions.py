"""JSON in which every object and every array knows its place in the text.

Beyond JSON it reads the `inf` and `nan` that oneDNN's dumps contain.
"""

from __future__ import annotations

import codecs
import json
import re
from bisect import bisect_right
from json.decoder import JSONArray as parse_array
from json.decoder import JSONObject as parse_object
from json.scanner import py_make_scanner
from typing import Any

from dialects.support.diagnostics import Diagnostic, GradcError, Position

_NON_FINITE = re.compile(r"-?(inf(inity)?|nan)\b", re.IGNORECASE)


class PlacedObject(dict[str, Any]):
    """A JSON object; `position` is that of its brace."""

    position: Position


class PlacedArray(list[Any]):
    """A JSON array; `position` is that of its bracket."""

    position: Position


def position_of(value: object) -> Position | None:
    """Where a value stood in the text, None for scalars and for plain Python data."""
    return getattr(value, "position", None)


def parse(text: str | bytes, file: str) -> Any:
    """The value of a JSON text. Raises GradcError with file, line, column and reason."""
    decoder = _Decoder(decode(text, file), file)
    try:
        return decoder.decode(decoder.text)
    except json.JSONDecodeError as error:
        rest = "" if error.doc[error.pos :].strip() else " (the text ends here)"
        raise decoder.error(error.pos, f"not JSON: {error.msg}{rest}") from None
    except RecursionError:
        raise decoder.error(decoder.reached, "not a graph: objects and arrays are nested too deeply") from None
    except ValueError as error:
        raise decoder.error(decoder.reached, f"not JSON: {error}") from None


def decode(text: str | bytes, file: str) -> str:
    """The text without a byte order mark; GradcError where bytes are not UTF-8."""
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


class _Decoder(json.JSONDecoder):
    """The standard decoder in pure Python, which is the one that tells where it stands."""

    def __init__(self, text: str, file: str):
        super().__init__()
        self.text = text
        self.reached = 0
        self._file = file
        self._line_starts = [0] + [match.end() for match in re.finditer("\n", text)]
        self.parse_object = self._object
        self.parse_array = self._array
        self._scan_standard = py_make_scanner(self)
        self.scan_once = self._scan

    def error(self, offset: int, message: str) -> GradcError:
        return GradcError(Diagnostic("error", message, position=self._position(offset)))

    def _position(self, offset: int) -> Position:
        line = bisect_right(self._line_starts, offset)
        return Position(self._file, line, offset - self._line_starts[line - 1] + 1)

    def _scan(self, text: str, offset: int) -> tuple[Any, int]:
        self.reached = offset
        special = _NON_FINITE.match(text, offset)
        if special is not None:
            return float(special[0]), special.end()
        return self._scan_standard(text, offset)

    def _object(self, text_and_offset: tuple[str, int], strict: bool, *_: Any) -> tuple[PlacedObject, int]:
        place = self._position(text_and_offset[1] - 1)
        pairs, end = parse_object(text_and_offset, strict, self._scan, None, list)
        found = PlacedObject()
        found.position = place
        for key, value in pairs:
            if key in found:
                raise GradcError(Diagnostic("error", f'key "{key}" is given twice', position=place))
            found[key] = value
        return found, end

    def _array(self, text_and_offset: tuple[str, int], *_: Any) -> tuple[PlacedArray, int]:
        values, end = parse_array(text_and_offset, self._scan)
        found = PlacedArray(values)
        found.position = self._position(text_and_offset[1] - 1)
        return found, end
