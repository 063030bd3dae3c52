"""stdin, stdout and stderr, any of which may be closed, full, or have nobody at the other end."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import BinaryIO, TextIO

from dialects.support.during import during

STDIN_NAME = "<stdin>"


def prepare() -> None:
    """For a command that begins: no file that it opens becomes a standard stream that was closed, and text
    that the encoding of a stream lacks is written with escapes."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            _replace(number)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def read_stdin() -> bytes:
    """Up to the limit on files. Raises GradcError where stdin is closed, and OSError."""
    from gradc.files.reading import read_stream

    if sys.stdin is None:
        from dialects.support.diagnostics import violation

        raise violation("cannot read stdin: it is closed")
    before = _before.get()
    rest = sys.stdin.buffer
    if not before:
        return read_stream(rest, STDIN_NAME)
    return read_stream(_Joined(before, rest), STDIN_NAME)


_before: ContextVar[bytes] = ContextVar("before", default=b"")


def read_before(head: bytes) -> AbstractContextManager[None]:
    """In this context stdin begins with bytes that were read from it already."""
    return during(_before, head)


class _Joined(io.BytesIO):
    """Bytes, then those of a stream."""

    def __init__(self, head: bytes, rest: BinaryIO):
        super().__init__(head)
        self._rest = rest

    def read(self, size: int | None = -1, /) -> bytes:
        head = super().read(size)
        left = -1 if size is None or size < 0 else size - len(head)
        return head + self._rest.read(left)


def write_stdout(data: bytes) -> None:
    """What was asked for on stdout. Raises GradcError where that is closed, and OSError."""
    if sys.stdout is None:
        from dialects.support.diagnostics import violation

        raise violation("cannot write to stdout: it is closed")
    sys.stdout.flush()
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:  # what a caller put in the place of stdout takes text
        sys.stdout.write(data.decode())
        return
    buffer.write(data)


@contextlib.contextmanager
def heard_or_not(stream: TextIO) -> Iterator[None]:
    """What is said to a stream that takes nothing is lost: there is nobody to tell."""
    try:
        yield
    except (OSError, ValueError):
        silence(stream)


def silence(stream: TextIO | None) -> None:
    """What is left in the buffer of a stream that takes nothing goes nowhere, instead of being an error when
    the process ends."""
    if stream is not None:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            _replace(stream.fileno())


def _replace(number: int) -> None:
    opened = os.open(os.devnull, os.O_RDWR)
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)
