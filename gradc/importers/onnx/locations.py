"""Subjects of import errors: the node or value of the model."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from xdsl.utils.exceptions import VerifyException

from dialects.support.diagnostics import Diagnostic, GradcError, violation

_MISTAKES = (VerifyException, TypeError, ValueError, OverflowError, AssertionError)
"""Exceptions that op constructors raise for invalid models."""


@contextlib.contextmanager
def at(subject: str) -> Iterator[None]:
    """Add a subject to errors, and turn exceptions of op constructors into GradcErrors."""
    try:
        yield
    except GradcError as error:
        raise with_subject(error, subject) from None
    except _MISTAKES as error:
        text = str(error) or type(error).__name__
        raise with_subject(violation(text[:300]), subject) from None


def with_subject(error: GradcError, subject: str) -> GradcError:
    """Return the error with a subject, unless it has one."""
    return error.map_diagnostics(
        lambda d: d if d.subject else Diagnostic(d.severity, d.message, subject, d.position, d.strict)
    )
