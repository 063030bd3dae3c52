"""The bar that a person sees while problems are measured."""

from __future__ import annotations

import contextlib
import os
import pty
import sys
from io import StringIO

import pytest

from gradc.tuning.progress import bar
from gradc.tuning.tuner import no_progress


def all_of(terminal: int) -> str:
    """What was written to the other end, which is closed by now."""
    found = b""
    with contextlib.suppress(OSError):  # how Linux says that there is no more
        while part := os.read(terminal, 4096):
            found += part
    os.close(terminal)
    return found.decode()


@pytest.mark.parametrize("stream", [None, StringIO()])
def test_nothing_in_a_pipe(stream, monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream)
    with bar() as progress:
        assert progress is no_progress
        progress(0, 1, "problem")
    assert stream is None or stream.getvalue() == ""


def test_a_terminal_is_told_and_left_clean(monkeypatch):
    ours, theirs = pty.openpty()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    with os.fdopen(theirs, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with bar() as progress:
            progress(0, 2, "conv_backward_data,f32,NCX," + "x" * 100)
            progress(1, 2, "resize_backward")
            progress(2, 2, "")
    said = all_of(ours)
    for word in ("0/2", "conv_backward_data", "…", "1/2", "resize_backward", "2/2"):
        assert word in said
    assert said.rstrip().endswith("\x1b[2K"), "the last line is erased"
