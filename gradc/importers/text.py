"""The text of a source file."""

from __future__ import annotations

import codecs

from dialects.support.diagnostics import Diagnostic, GradcError, Position


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
