"""Atomic writing of files, with errors that name the file."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from dialects.support.diagnostics import violation
from gradc.files.atomic import draft

StrPath = str | os.PathLike[str]


def write_atomically(path: StrPath, data: bytes) -> None:
    """Write a file atomically. Raises GradcError naming the path, and then leaves nothing behind."""
    with atomic_file(path) as file:
        file.write(data)


@contextlib.contextmanager
def atomic_file(path: StrPath) -> Iterator[BinaryIO]:
    """Open a file that appears under `path` when the block ends without an error.

    A link stays a link. Devices and pipes (/dev/stdout) are written directly. Raises GradcError naming the
    path.
    """
    with write_errors(path) as target:
        if is_special(path):
            with _open_special(path) as file:
                yield file
            return
        with draft(target.parent) as found:
            yield found.file
            found.publish(target)


@contextlib.contextmanager
def write_errors(path: StrPath) -> Iterator[Path]:
    """Yield the resolved path to write; an OSError in the block becomes a GradcError naming `path`."""
    target = Path(os.path.realpath(path))
    try:
        if target.is_dir():
            raise violation(f"cannot write {os.fspath(path)}: it is a folder")
        if not target.parent.is_dir():
            raise violation(f"cannot write {os.fspath(path)}: there is no folder {target.parent}")
        yield target
    except OSError as error:
        raise violation(f"cannot write {os.fspath(path)}: {error.strerror or error}") from error


def is_special(path: StrPath) -> bool:
    """Return whether an unresolved path is no regular file; a piped /dev/stdout resolves to no file."""
    return os.path.exists(path) and not os.path.isfile(path)


def _open_special(path: StrPath) -> BinaryIO:
    """Open a device or pipe to write; raise GradcError, instead of blocking, for a pipe without a reader."""
    try:
        number = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        raise violation(f"cannot write {os.fspath(path)}: it is a pipe without a reader") from None
    os.set_blocking(number, True)
    return open(number, "wb")
