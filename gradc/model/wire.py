"""Protobuf's wire format, as far as a message is made of fields: each is a tag and a value, and those that
hold bytes, texts and other messages say how long they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""Wire types; the groups, 3 and 4, are of an older protobuf than ONNX."""

_FIXED = {FIXED64: 8, FIXED32: 4}
_LONGEST_HEAD = 20
"""Bytes of a tag and a length, or of a tag and a number."""


class MalformedError(ValueError):
    """Bytes that are no message."""


@dataclass(frozen=True)
class Field:
    """A field of a message in a file: where it starts, where its value does, and where it ends.

    `value` is the number that a VARINT has, and 0 for other types.
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
    """The fields of the message between two places of a file; what is in them is not read."""
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
    """The number that starts at a place, and where it ends."""
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
    """What stands before the `length` bytes of a BYTES field."""
    return varint(number << 3 | BYTES) + varint(length)
