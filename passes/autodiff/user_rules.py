"""Diagnostics for errors in user-defined rules and losses, with the function and its line."""

from __future__ import annotations

import traceback
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from dialects.support.diagnostics import (
    GradcError,
    UnsupportedError,
    suggest,
    usage,
)

_PACKAGES = Path(__file__).resolve().parents[2]
_OWN = tuple(f"{_PACKAGES / name}/" for name in ("dialects", "passes", "gradc"))


@contextmanager
def attribute_to_rule(title: str) -> Generator[None]:
    """Raise UsageError for any error in the rule of an op but a refusal, which is an UnsupportedError."""
    with attribute_errors(f"the rule of {title}"):
        yield


@contextmanager
def attribute_errors(what: str) -> Generator[None]:
    """Raise UsageError for any error in the user's code but an UnsupportedError."""
    try:
        yield
    except UnsupportedError:
        raise
    except Exception as error:
        reason = (
            _op_error(error) if isinstance(error, GradcError) else f"{type(error).__name__}: {_line(error)}"
        )
        raise usage(f"{what} fails{_location(error)}: {reason}", hint=_hint(error)) from error


def _op_error(error: GradcError) -> str:
    """Return the message of an op that the user's code could not create."""
    first = error.diagnostic
    return f"[{first.subject}] {first.message}" if first.subject else first.message


def _line(error: Exception) -> str:
    return (str(error).strip() or "without a message").splitlines()[0]


def _location(error: Exception) -> str:
    """Return the last line reached in the user's own files."""
    reached = traceback.extract_tb(error.__traceback__)
    frames = [frame for frame in reached if not frame.filename.startswith(_OWN)]
    return f" in line {frames[-1].lineno} of {Path(frames[-1].filename).name}" if frames else ""


def _hint(error: Exception) -> str:
    if not isinstance(error, AttributeError) or not error.name:
        return ""
    known = [name for name in dir(error.obj) if not name.startswith("_")]
    return suggest(error.name, known)
