"""stdin, stdout and stderr, which may be closed, full, or without a reader."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import BinaryIO, TextIO

from dialects.support.scoped_contextvar import override_context

STDIN_NAME = "<stdin>"


def prepare() -> None:
    """Prepare the streams of a command: closed ones are replaced, so that no file takes their number, and
    unencodable text is escaped."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            _replace(number)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def read_stdin() -> bytes:
    """Read stdin up to the limit on files. Raises GradcError if it is closed, and OSError."""
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


def prepend_stdin(head: bytes) -> AbstractContextManager[None]:
    """Prepend bytes that were already read from stdin, within this context."""
    return override_context(_before, head)


class _Joined(io.BytesIO):
    """Bytes followed by those of a stream."""

    def __init__(self, head: bytes, rest: BinaryIO):
        super().__init__(head)
        self._rest = rest

    def read(self, size: int | None = -1, /) -> bytes:
        head = super().read(size)
        left = -1 if size is None or size < 0 else size - len(head)
        return head + self._rest.read(left)


def write_stdout(data: bytes) -> None:
    """Write requested output to stdout. Raises GradcError if it is closed, and OSError."""
    if sys.stdout is None:
        from dialects.support.diagnostics import violation

        raise violation("cannot write to stdout: it is closed")
    sys.stdout.flush()
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:  # a caller's replacement of stdout takes text
        sys.stdout.write(data.decode())
        return
    buffer.write(data)


@contextlib.contextmanager
def ignore_write_errors(stream: TextIO) -> Iterator[None]:
    """Ignore errors of writing messages to a broken stream, which cannot be reported."""
    try:
        yield
    except (OSError, ValueError):
        silence(stream)


def silence(stream: TextIO | None) -> None:
    """Redirect a broken stream to the null device, so that flushing its buffer at exit does not fail."""
    if stream is not None:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            _replace(stream.fileno())


def _replace(number: int) -> None:
    opened = os.open(os.devnull, os.O_RDWR)
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)
