"""Error handling of the commands: one error message, and an exit code."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from gradc.terminal import messages
from gradc.terminal.streams import silence

EXIT_CHECK_FAILED = 1
EXIT_UNSUPPORTED = 3
EXIT_BAD_INPUT = 4


class StdoutClosed(Exception):
    """The reader of stdout is gone. click's exit code for that, 1, is gradc's for a failed check."""


@contextlib.contextmanager
def one_line_errors() -> Iterator[None]:
    """Report an exception as one error on stderr, and exit with its code.

    Uncaught errors of the operating system concern stdin or stdout.
    """
    try:
        yield
    except (StdoutClosed, BrokenPipeError):
        silence(sys.stdout)
        sys.exit(0)
    except OSError as error:
        silence(sys.stdout)
        where = f": {error.filename!r}" if error.filename else ""
        messages.fail_with(f"error: {error.strerror or error}{where}", EXIT_BAD_INPUT)
        sys.exit(EXIT_BAD_INPUT)
    except MemoryError as error:
        messages.fail_with(f"error: not enough memory: {error}", EXIT_UNSUPPORTED)
        sys.exit(EXIT_UNSUPPORTED)
    except Exception as error:
        code = getattr(error, "exit_code", None)
        if code is None:
            from gradc.crash_reports.crash import unexpected_error

            error = unexpected_error(error)
            code = error.exit_code
        messages.fail(error, code)
        sys.exit(code)
