"""Reading files and streams that may be larger than anybody meant."""

from __future__ import annotations

import os
import select
import stat
from itertools import islice
from typing import BinaryIO

from dialects.support.diagnostics import Diagnostic, GradcError, nearest, printable, violation
from dialects.support.limits import LimitError, check, current, too_large

QUOTABLE = 2**24
"""Bytes of a source from which diagnostics quote lines; a larger one is not gone through again for that."""

LISTED = 5000
"""Names of a folder among which the nearest to a wrong one is looked for."""

KEPT: dict[str, bytes] = {}
"""What came from streams, by the names that diagnostics have for them: it cannot be read again."""

PATHS: dict[str, str] = {}
"""What names in diagnostics stand for, where a name cannot be shown as it is."""


def shown(path: str | os.PathLike[str]) -> str:
    """How diagnostics name a file: any bytes can be a name, and not all are text that can be shown."""
    name = os.fspath(path)
    if (known := printable(name)) != name:
        PATHS[known] = name
    return known


PATIENCE = 3.0
"""Seconds in which somebody has to open a pipe that is read."""


def opened(path: str | os.PathLike[str], *, regular: bool = False) -> BinaryIO:
    """A file to read, with `regular` neither device nor pipe. Raises OSError, and GradcError for a pipe that
    nobody writes to."""
    found, name = os.stat(path), os.fspath(path)
    if regular and not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        raise violation(f"cannot read {name}: it is not a regular file")
    if stat.S_ISFIFO(found.st_mode):
        return _opened_pipe(name)
    return open(path, "rb")


def _opened_pipe(name: str) -> BinaryIO:
    """To open it would wait for somebody who writes, who may never come."""
    pipe = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
    ready = select.poll()
    ready.register(pipe, select.POLLIN)
    if not ready.poll(PATIENCE * 1000) and not _has_writer(pipe):
        os.close(pipe)
        raise violation(
            f"cannot read {name}: it is a pipe that nobody has opened to write for {PATIENCE:g} s"
        )
    os.set_blocking(pipe, True)
    return os.fdopen(pipe, "rb")


def _has_writer(pipe: int) -> bool:
    """Of an empty pipe that does not block."""
    try:
        os.read(pipe, 1)
    except BlockingIOError:
        return True
    return False


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file. LimitError for one that is too large; else raises what `opened` does."""
    with opened(path) as file:
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
    name = os.fspath(path) or "''"
    missing = isinstance(error, FileNotFoundError)
    return violation(f"cannot read {name}: {error.strerror or error}", hint=hint or missing * near(name))


def near(path: str) -> str:
    """A did-you-mean hint for a file that is not there, from the names of its folder; '' if none is near."""
    folder, name = os.path.split(path)
    try:
        with os.scandir(folder or os.curdir) as entries:
            others = (entry.name for entry in entries if entry.name != name)  # a link to nothing is there
            return nearest(name, list(islice(others, LISTED)))
    except (OSError, ValueError):
        return ""


def _read(stream: BinaryIO, name: str) -> bytes:
    most = current().file_bytes
    data = stream.read(most + 1)
    if len(data) > most:
        what = too_large("file-bytes", 2 * most, f"bytes of {name}, which does not say how many")
        raise LimitError(Diagnostic("error", what))
    return data
