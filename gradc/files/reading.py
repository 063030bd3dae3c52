"""Size-limited reading of files and streams."""

from __future__ import annotations

import os
import select
import stat
from itertools import islice
from typing import BinaryIO

from dialects.support.diagnostics import Diagnostic, GradcError, printable, suggest, violation
from dialects.support.limits import LimitError, check, current, too_large

QUOTABLE = 2**24
"""Largest source, in bytes, of which diagnostics quote lines."""

MOST_NAMES = 5000
"""Names of a folder that are searched for the nearest to a wrong one."""

STREAM_CONTENTS: dict[str, bytes] = {}
"""Bytes read from streams, which cannot be read again, by their name in diagnostics."""

DISPLAYED_PATHS: dict[str, str] = {}
"""Printable name in diagnostics -> path, if they differ."""


def display_name(path: str | os.PathLike[str]) -> str:
    """Return the printable name of a file for diagnostics."""
    name = os.fspath(path)
    if (known := printable(name)) != name:
        DISPLAYED_PATHS[known] = name
    return known


PIPE_TIMEOUT = 3.0
"""Seconds to wait for a pipe's writer."""


def open_file(path: str | os.PathLike[str], *, regular: bool = False) -> BinaryIO:
    """Open a file to read; with `regular`, devices and pipes are errors. Raises OSError, and GradcError for a
    pipe without a writer."""
    found, name = os.stat(path), os.fspath(path)
    if regular and not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        raise violation(f"cannot read {name}: it is not a regular file")
    if stat.S_ISFIFO(found.st_mode):
        return _open_pipe(name)
    return open(path, "rb")


def _open_pipe(name: str) -> BinaryIO:
    """Open a pipe; raise GradcError, instead of blocking, if it has no writer after PATIENCE seconds."""
    pipe = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
    ready = select.poll()
    ready.register(pipe, select.POLLIN)
    if not ready.poll(PIPE_TIMEOUT * 1000) and not _has_writer(pipe):
        os.close(pipe)
        raise violation(
            f"cannot read {name}: it is a pipe that no process opened for writing within {PIPE_TIMEOUT:g} s"
        )
    os.set_blocking(pipe, True)
    return os.fdopen(pipe, "rb")


def _has_writer(pipe: int) -> bool:
    """Return whether an empty non-blocking pipe has a writer."""
    try:
        os.read(pipe, 1)
    except BlockingIOError:
        return True
    return False


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file. Raises LimitError if it is too large, else as `open_file` does."""
    with open_file(path) as file:
        found = os.fstat(file.fileno())
        name = os.fspath(path)
        check("file-bytes", found.st_size, f"bytes of {name}")
        return _read(file, name) if stat.S_ISREG(found.st_mode) else read_stream(file, name)


def read_stream(stream: BinaryIO, name: str) -> bytes:
    """Read and record a stream of unknown length; LimitError as soon as it is too large."""
    data = _read(stream, name)
    STREAM_CONTENTS[name] = data if len(data) <= QUOTABLE else b""
    return data


def read_error(path: str | os.PathLike[str], error: OSError, hint: str = "") -> GradcError:
    """Return the GradcError for an unreadable file, with the nearest name if it is missing."""
    name = os.fspath(path) or "''"
    missing = isinstance(error, FileNotFoundError)
    return violation(
        f"cannot read {name}: {error.strerror or error}", hint=hint or missing * suggest_file(name)
    )


def suggest_file(path: str) -> str:
    """Return a did-you-mean hint for a missing file from the names in its folder, or ''."""
    folder, name = os.path.split(path)
    try:
        with os.scandir(folder or os.curdir) as entries:
            others = (entry.name for entry in entries if entry.name != name)  # a dangling link is listed
            return suggest(name, list(islice(others, MOST_NAMES)))
    except (OSError, ValueError):
        return ""


def _read(stream: BinaryIO, name: str) -> bytes:
    most = current().file_bytes
    data = stream.read(most + 1)
    if len(data) > most:
        what = too_large("file-bytes", 2 * most, f"bytes of {name}, which does not say how many")
        raise LimitError(Diagnostic("error", what))
    return data
