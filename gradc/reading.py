"""Reading files and streams that may be larger than anybody meant."""

from __future__ import annotations

import os
from typing import BinaryIO

from dialects.support.diagnostics import Diagnostic
from dialects.support.limits import LimitError, check, current, too_large


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file. Raises LimitError for one that is too large, and OSError."""
    with open(path, "rb") as file:
        check("file-bytes", os.fstat(file.fileno()).st_size, f"bytes of {os.fspath(path)}")
        return read_stream(file, os.fspath(path))


def read_stream(stream: BinaryIO, name: str) -> bytes:
    """What a stream of unknown length gives; LimitError as soon as it is too much."""
    most = current().file_bytes
    data = stream.read(most + 1)
    if len(data) > most:
        what = too_large("file-bytes", 2 * most, f"bytes of {name}, which does not say how many")
        raise LimitError(Diagnostic("error", what))
    return data
