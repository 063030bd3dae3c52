"""How a command of the command line ends when it does not end well: one error, and an exit code."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from io import StringIO

import click

from gradc import voice

EXIT_CHECK_FAILED = 1
EXIT_UNSUPPORTED = 3
EXIT_BAD_INPUT = 4
EXIT_INTERRUPTED = 130


class ReaderGone(Exception):
    """Nobody reads stdout any more. click would make it exit code 1, which is ours for a failed check."""


@contextlib.contextmanager
def one_line_errors() -> Iterator[None]:
    """What a command raises, as one error on stderr and an exit code; usage errors show the usage, too.

    What the operating system refuses and is not caught further down concerns stdin or stdout.
    """
    try:
        yield
    except click.ClickException as error:
        voice.fail_with(_usage(error), error.exit_code)
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(EXIT_INTERRUPTED)
    except (ReaderGone, BrokenPipeError):
        _silence_stdout()
        sys.exit(0)
    except OSError as error:
        _silence_stdout()
        where = f": {error.filename}" if error.filename else ""
        voice.fail_with(f"error: {error.strerror or error}{where}", EXIT_BAD_INPUT)
        sys.exit(EXIT_BAD_INPUT)
    except MemoryError as error:
        voice.fail_with(f"error: not enough memory: {error}", EXIT_UNSUPPORTED)
        sys.exit(EXIT_UNSUPPORTED)
    except Exception as error:
        code = getattr(error, "exit_code", None)
        if code is None:
            from gradc.crash import unexpected

            error = unexpected(error)
            code = error.exit_code
        voice.fail(error, code)
        sys.exit(code)


def _usage(error: click.ClickException) -> str:
    """A program is told what is wrong, a person how the command is used as well."""
    if voice.is_json():
        return error.format_message()
    shown = StringIO()
    error.show(shown)
    return shown.getvalue().rstrip("\n")


def _silence_stdout() -> None:
    """Nobody reads stdout any more: what is left in its buffer must not be flushed into the void."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
