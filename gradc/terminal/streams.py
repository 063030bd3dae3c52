"""stdin, stdout and stderr, any of which may be closed, full, or have nobody at the other end."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import TextIO

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
    return read_stream(sys.stdin.buffer, STDIN_NAME)


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
