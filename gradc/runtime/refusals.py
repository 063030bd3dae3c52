"""Conversion of onnxruntime's errors."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from dialects.support.diagnostics import Diagnostic, GradcError, UnsupportedError, printable


@contextlib.contextmanager
def convert_errors(what: str, kind: type[GradcError] | None, upgrade: str | None = None) -> Iterator[None]:
    """Convert onnxruntime's errors: a missing kernel to UnsupportedError, others to `kind`.

    With kind None, errors pass: a model built by gradc that does not load is an internal error, unless the
    runtime is too old. `upgrade` is the remedy for one that may be.
    """
    try:
        yield
    except GradcError:
        raise
    except Exception as error:
        if upgrade or type(error).__name__ == "NotImplemented":
            kind = UnsupportedError
        if kind is None:
            raise
        text = "; ".join(part for part in (f"{what}: {one_line(error)}", upgrade) if part)
        raise kind(Diagnostic("error", text)) from error


def one_line(error: Exception) -> str:
    """Return the message without onnxruntime's error code and source position."""
    text = re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", str(error))
    return printable(" ".join(re.sub(r"/\S*onnxruntime\S*:\d+ .*?\) ", "", text).split()))
