"""JSON decoder whose objects and arrays record their position in the text.

Beyond standard JSON it accepts the `inf` and `nan` of oneDNN's dumps.
"""

from __future__ import annotations

import json
import re
from json import decoder, scanner
from typing import Any

from dialects.support.diagnostics import Diagnostic, GradcError, Position
from dialects.support.limits import LimitError, current, too_large
from gradc.importers.text import PositionIndex, check_nesting, decode

# typeshed omits these parts of the standard decoder
_parse_object: Any = vars(decoder)["JSONObject"]
_parse_array: Any = vars(decoder)["JSONArray"]
_make_scanner: Any = vars(scanner)["py_make_scanner"]

RECORDS_PER_OP = 64
"""Maximum number of objects and arrays per op; a real record has far fewer."""

_NON_FINITE = re.compile(r"-?(inf(inity)?|nan)\b", re.IGNORECASE)


class LocatedObject(dict[str, Any]):
    """A JSON object; `position` is that of its brace. Positions of keys and values are computed on demand."""

    __slots__ = ("_source", "position")

    position: Position
    _source: tuple[_Decoder, int]

    def position_of_value(self, key: str) -> Position:
        decoder, offset = self._source
        return decoder.place(decoder.values(offset)[key])

    def position_of_key(self, key: str) -> Position:
        """Return the position of a key's opening quote, or of its value if the text escapes the key."""
        decoder, offset = self._source
        value = decoder.values(offset)[key]
        quoted = decoder.text.rfind(f'"{key}"', offset, value)
        return decoder.place(value if quoted < 0 else quoted)


class LocatedArray(list[Any]):
    """A JSON array; `position` is that of its bracket."""

    __slots__ = ("position",)

    position: Position


def position_of(value: object) -> Position | None:
    """Return the position of a decoded value, None for scalars and plain Python data."""
    return getattr(value, "position", None)


def value_position(data: object, key: str) -> Position | None:
    """Return the position of the value of `key`, None if it is missing or `data` is plain Python data."""
    return data.position_of_value(key) if isinstance(data, LocatedObject) and key in data else None


def parse(text: str | bytes, file: str) -> Any:
    """Decode a JSON text. Raises GradcError with file, line, column and reason."""
    whole = decode(text, file)
    check_nesting(whole, file)
    reader = _Decoder(whole, file)
    try:
        return reader.decode(reader.text)
    except json.JSONDecodeError as error:
        rest = "" if error.doc[error.pos :].strip() else " (the text ends here)"
        raise reader.error(error.pos, f"not JSON: {error.msg}{rest}") from None
    except RecursionError:
        raise reader.error(reader.reached, "objects and arrays are nested too deeply") from None
    except ValueError as error:
        raise reader.error(reader.reached, f"not JSON: {error}") from None


class _Decoder(json.JSONDecoder):
    """The standard decoder in pure Python, which exposes its offsets."""

    def __init__(self, text: str, file: str):
        super().__init__()
        self.text = text
        self.reached = 0
        self._places = PositionIndex(text, file)
        self._nested = 0
        self._most = RECORDS_PER_OP * current().ops
        self.parse_object = self._object
        self.parse_array = self._array
        self._scan_standard = _make_scanner(self)
        self.scan_once = self._scan

    def error(self, offset: int, message: str) -> GradcError:
        return GradcError(Diagnostic("error", message, position=self._places.of(offset)))

    def place(self, offset: int) -> Position:
        return self._places.of(offset)

    def values(self, offset: int) -> dict[str, int]:
        """Rescan the object whose content begins at `offset` and return the offsets of its values."""
        starts: list[int] = []

        def scan(text: str, start: int) -> tuple[Any, int]:
            starts.append(start)
            self._nested = 0
            return self._scan(text, start)

        pairs, _ = _parse_object((self.text, offset), True, scan, None, list)
        return {key: start for (key, _), start in zip(pairs, starts, strict=True)}

    def _count(self) -> None:
        """Count one object or array, about 100 bytes of memory for two bytes of text; raise at the limit."""
        self._nested += 1
        if self._nested > self._most:
            what = f"objects and arrays of the document, up to {RECORDS_PER_OP} for an op"
            text = too_large("ops", self._nested * 2 // RECORDS_PER_OP, what)
            raise LimitError(Diagnostic("error", text, position=self._places.of(self.reached)))

    def _scan(self, text: str, offset: int) -> tuple[Any, int]:
        self.reached = offset
        special = _NON_FINITE.match(text, offset)
        if special is not None:
            return float(special[0]), special.end()
        return self._scan_standard(text, offset)

    def _object(self, text_and_offset: tuple[str, int], strict: bool, *_: Any) -> tuple[LocatedObject, int]:
        self._count()
        place = self._places.of(text_and_offset[1] - 1)
        pairs, end = _parse_object(text_and_offset, strict, self._scan, None, list)
        found = LocatedObject()
        found.position = place
        found._source = (self, text_and_offset[1])
        for key, value in pairs:
            if key in found:
                raise GradcError(Diagnostic("error", f'key "{key}" is given twice', position=place))
            found[key] = value
        return found, end

    def _array(self, text_and_offset: tuple[str, int], *_: Any) -> tuple[LocatedArray, int]:
        self._count()
        place = self._places.of(text_and_offset[1] - 1)
        values, end = _parse_array(text_and_offset, self._scan)
        found = LocatedArray(values)
        found.position = place
        return found, end
