"""Where in a model an error is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from xdsl.utils.exceptions import VerifyException

from dialects.support.diagnostics import Diagnostic, GradcError, violation

_MISTAKES = (VerifyException, TypeError, ValueError, OverflowError, AssertionError)
"""What constructors of ops raise for what a model should not hold."""


@contextlib.contextmanager
def at(subject: str) -> Iterator[None]:
    """Give errors a subject, and make such of what no model should make an op raise."""
    try:
        yield
    except GradcError as error:
        raise located(error, subject) from None
    except _MISTAKES as error:
        text = str(error) or type(error).__name__
        raise located(violation(text[:300]), subject) from None


def located(error: GradcError, subject: str) -> GradcError:
    """The error with a subject, unless it has one."""
    return error.mapped(
        lambda d: d if d.subject else Diagnostic(d.severity, d.message, subject, d.position, d.strict)
    )
