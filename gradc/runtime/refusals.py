"""Conversion of onnxruntime's errors."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from dialects.support.diagnostics import Diagnostic, GradcError, UnsupportedError, printable
from passes.kernel_tables import newest_runtime


@contextlib.contextmanager
def convert_errors(what: str, kind: type[GradcError] | None) -> Iterator[None]:
    """Convert onnxruntime's errors: a missing kernel to UnsupportedError, others to `kind`.

    With kind None, errors pass: a model built by gradc that does not load is an internal error.
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


@contextlib.contextmanager
def report_old_runtime(version: str) -> Iterator[None]:
    """Raise onnxruntime's errors as UnsupportedError if it is older than the newest of the kernel tables.

    Such a runtime lacks attributes of ops and types of functions that its registry of kernels does not list.
    """
    known = newest_runtime()
    try:
        yield
    except Exception as error:
        is_ours = not type(error).__module__.startswith("onnxruntime")
        if is_ours or _release(version) >= _release(known):
            raise
        text = (
            f"onnxruntime cannot load the model: {one_line(error)}; it is {version}, install {known} or newer"
        )
        raise UnsupportedError(Diagnostic("error", text)) from error


def _release(version: str) -> list[int]:
    """Return the major and minor version."""
    return [int(number) for number in re.findall(r"\d+", version)[:2]]


def one_line(error: Exception) -> str:
    """Return the message without onnxruntime's error code and source position."""
    text = re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", str(error))
    return printable(" ".join(re.sub(r"/\S*onnxruntime\S*:\d+ .*?\) ", "", text).split()))
