"""Quoted source lines as notes on errors, for tracebacks and notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dialects.support.diagnostics import GradcError

WIDTH = 100


@contextmanager
def quoting_errors() -> Iterator[None]:
    """Add the source lines of a GradcError raised within as its note, if they can be read.

    The error's text remains the diagnostic.
    """
    try:
        yield
    except GradcError as error:
        from gradc.terminal.quoting import quote

        quoted = "\n".join(filter(None, (quote(diagnostic, WIDTH) for diagnostic in error.diagnostics)))
        if quoted and not getattr(error, "__notes__", None):
            error.add_note(quoted)
        raise
