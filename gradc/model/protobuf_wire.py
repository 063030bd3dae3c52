"""Protobuf's wire format: fields of a tag and a value; bytes, strings and messages have a length prefix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""Wire types; ONNX does not use the groups 3 and 4."""

_FIXED = {FIXED64: 8, FIXED32: 4}
_LONGEST_HEAD = 20
"""Longest tag and length, or tag and number, in bytes."""


class MalformedError(ValueError):
    """The bytes are no message."""


@dataclass(frozen=True)
class Field:
    """A field of a message in a file: offsets of its start, of its value and of its end.

    `value` is the number of a VARINT, 0 for other types.
    """

    number: int
    type: int
    start: int
    inside: int
    end: int
    value: int = 0

    @property
    def length(self) -> int:
        return self.end - self.inside


def fields(file: BinaryIO, start: int, end: int) -> Iterator[Field]:
    """Yield the fields of the message between two offsets of a file, without reading their contents."""
    while start < end:
        found = _field(file, start, end)
        yield found
        start = found.end


def _field(file: BinaryIO, start: int, end: int) -> Field:
    file.seek(start)
    head = file.read(min(_LONGEST_HEAD, end - start))
    tag, at = _varint(head, 0)
    number, type_ = tag >> 3, tag & 7
    if type_ in _FIXED:
        inside, value = start + at, 0
        ends = inside + _FIXED[type_]
    elif type_ in (VARINT, BYTES):
        value, after = _varint(head, at)
        inside = start + (after if type_ == BYTES else at)
        ends = inside + value if type_ == BYTES else start + after
    else:
        raise MalformedError(f"wire type {type_}")
    if number == 0 or ends > end:
        raise MalformedError(f"field {number} beyond the end of its message")
    return Field(number, type_, start, inside, ends, value if type_ == VARINT else 0)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the varint at an offset, and the offset of its end."""
    value = 0
    for index, byte in enumerate(data[at : at + 10]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, at + index + 1
    raise MalformedError("a number without an end")


def varint(number: int) -> bytes:
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def head(number: int, length: int) -> bytes:
    """Return the tag and length of a BYTES field."""
    return varint(number << 3 | BYTES) + varint(length)
