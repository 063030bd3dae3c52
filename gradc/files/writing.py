"""Files, written whole or not at all, with errors that name the file."""

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


def write_whole(path: StrPath, data: bytes) -> None:
    """Write a file atomically; raises GradcError naming the path, and then leaves nothing behind."""
    with whole_file(path) as file:
        file.write(data)


@contextlib.contextmanager
def whole_file(path: StrPath) -> Iterator[BinaryIO]:
    """A file to write that appears under `path`, complete, when the block ends without an error.

    A link stays a link. What is no regular file (/dev/stdout) is written to directly. Raises
    GradcError naming the path.
    """
    with refusals_of(path) as target:
        if is_special(path):
            with _opened_special(path) as file:
                yield file
            return
        with draft(target.parent) as found:
            yield found.file
            found.publish(target)


@contextlib.contextmanager
def refusals_of(path: StrPath) -> Iterator[Path]:
    """Where a file for `path` goes; what the system refuses on the way there is a GradcError."""
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
    """Asked of the path itself: the name that /dev/stdout resolves to is no file when it is a pipe."""
    return os.path.exists(path) and not os.path.isfile(path)


def _opened_special(path: StrPath) -> BinaryIO:
    """Raises GradcError for a pipe that nobody reads: opening it would wait for one, perhaps for ever."""
    try:
        number = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        raise violation(f"cannot write {os.fspath(path)}: nobody reads from it") from None
    os.set_blocking(number, True)
    return open(number, "wb")
