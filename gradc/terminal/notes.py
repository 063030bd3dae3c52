"""The quoted line of a source as a note on the error that is about it, for tracebacks and notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dialects.support.diagnostics import GradcError

WIDTH = 100


@contextmanager
def quoting_errors() -> Iterator[None]:
    """A GradcError from within has the line that it is about as its note, where that can be read.

    Its text stays the diagnostic alone.
    """
    try:
        yield
    except GradcError as error:
        from gradc.terminal.quoting import quote

        quoted = "\n".join(filter(None, (quote(diagnostic, WIDTH) for diagnostic in error.diagnostics)))
        if quoted and not getattr(error, "__notes__", None):
            error.add_note(quoted)
        raise
