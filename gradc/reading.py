"""Reading files and streams that may be larger than anybody meant."""

from __future__ import annotations

import os
import stat
from itertools import islice
from typing import BinaryIO

from dialects.support.diagnostics import Diagnostic, GradcError, nearest, violation
from dialects.support.limits import LimitError, check, current, too_large

QUOTABLE = 2**24
"""Bytes of a source from which diagnostics quote lines; a larger one is not gone through again for that."""

LISTED = 5000
"""Names of a folder among which the nearest to a wrong one is looked for."""

KEPT: dict[str, bytes] = {}
"""What came from streams, by the names that diagnostics have for them: it cannot be read again."""


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file. Raises LimitError for one that is too large, and OSError."""
    with open(path, "rb") as file:
        found = os.fstat(file.fileno())
        name = os.fspath(path)
        check("file-bytes", found.st_size, f"bytes of {name}")
        return _read(file, name) if stat.S_ISREG(found.st_mode) else read_stream(file, name)


def read_stream(stream: BinaryIO, name: str) -> bytes:
    """What a stream of unknown length gives, which is kept; LimitError as soon as it is too much."""
    data = _read(stream, name)
    KEPT[name] = data if len(data) <= QUOTABLE else b""
    return data


def unreadable(path: str | os.PathLike[str], error: OSError, hint: str = "") -> GradcError:
    """What a file that cannot be read is to the user; of one that is not there, the nearest name."""
    name = os.fspath(path)
    missing = isinstance(error, FileNotFoundError)
    return violation(f"cannot read {name}: {error.strerror or error}", hint=hint or missing * near(name))


def near(path: str) -> str:
    """A did-you-mean hint for a file that is not there, from the names of its folder; '' if none is near."""
    folder, name = os.path.split(path)
    try:
        with os.scandir(folder or os.curdir) as entries:
            return nearest(name, [entry.name for entry in islice(entries, LISTED)])
    except (OSError, ValueError):
        return ""


def _read(stream: BinaryIO, name: str) -> bytes:
    most = current().file_bytes
    data = stream.read(most + 1)
    if len(data) > most:
        what = too_large("file-bytes", 2 * most, f"bytes of {name}, which does not say how many")
        raise LimitError(Diagnostic("error", what))
    return data
