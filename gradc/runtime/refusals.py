"""onnxruntime's errors as ours."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from dialects.support.diagnostics import Diagnostic, GradcError, UnsupportedError, printable


@contextlib.contextmanager
def refusals(what: str, kind: type[GradcError] | None) -> Iterator[None]:
    """onnxruntime's errors as ours: a missing kernel is UnsupportedError, the rest is `kind`.

    A model that we built and that does not load is our own fault: with kind None it stays as is.
    """
    try:
        yield
    except GradcError:
        raise
    except Exception as error:
        if type(error).__name__ == "NotImplemented":
            kind = UnsupportedError
        if kind is None:
            raise
        raise kind(Diagnostic("error", f"{what}: {one_line(error)}")) from error


def one_line(error: Exception) -> str:
    """The message without onnxruntime's error code and the place in its sources."""
    text = re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", str(error))
    return printable(" ".join(re.sub(r"/\S*onnxruntime\S*:\d+ .*?\) ", "", text).split()))
