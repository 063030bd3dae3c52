"""The bar that a person sees while something takes long."""

from __future__ import annotations

import re
import sys
import time
from io import StringIO
from pathlib import Path

import pytest
from support.terminals import terminal

import gradc
from dialects.evaluate import evaluate
from dialects.support.entry import entry_function, input_names
from gradc.importers import import_file
from gradc.terminal import messages, progress
from gradc.verification.samples import random_inputs

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture(autouse=True)
def _a_plain_terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("stream", [None, StringIO()])
def test_nothing_in_a_pipe(stream, monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress.bar(patience=0):
        progress.show(0, 1, "problem")
    assert stream is None or stream.getvalue() == ""


def test_a_terminal_is_told_and_left_clean(monkeypatch):
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    with terminal(80) as (stream, message):
        monkeypatch.setattr(sys, "stderr", stream)
        with progress.bar(patience=0):
            progress.show(0, 2, "conv_backward_data,f32,NCX," + "x" * 100)
            progress.show(1, 2, "resize_backward")
            progress.show(2, 2, "")
    for word in ("0/2", "conv_backward_data", "…", "1/2", "resize_backward", "2/2"):
        assert word in message[0]
    assert message[0].rstrip().endswith("\x1b[2K"), "the last line is erased"


def test_what_is_quick_shows_nothing(monkeypatch):
    with terminal() as (stream, message):
        monkeypatch.setattr(sys, "stderr", stream)
        with progress.bar(patience=60):
            progress.show(0, 2, "first")
            progress.show(1, 2, "second")
    assert message == [""]


def test_one_long_step_appears_by_itself(monkeypatch):
    """The second is over within a step: nobody calls `show` then."""
    with terminal() as (stream, message):
        monkeypatch.setattr(sys, "stderr", stream)
        with progress.bar(patience=0.05):
            progress.show(3, 7, "a long step")
            time.sleep(0.5)
    assert "3/7" in message[0]
    assert "a long step" in message[0]


def test_a_bar_in_a_bar_is_the_same(monkeypatch):
    with terminal() as (stream, message):
        monkeypatch.setattr(sys, "stderr", stream)
        with progress.bar(patience=60), progress.bar(patience=0):
            progress.show(0, 2, "inner")
    assert message == [""]


def test_what_is_said_meanwhile_has_its_own_lines(monkeypatch):
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    with terminal() as (stream, message):
        monkeypatch.setattr(sys, "stderr", stream)
        with progress.bar(patience=0):
            progress.show(0, 2, "working")
            messages.note("a note")
            progress.show(1, 2, "again")
    before, _, after = message[0].partition("a note\n")
    assert before.rstrip().endswith("\x1b[2K"), "the bar is erased before the note"
    assert "again" in after


def test_without_a_bar_showing_is_nothing(monkeypatch):
    with terminal() as (stream, message):
        monkeypatch.setattr(sys, "stderr", stream)
        progress.show(1, 2, "nobody asked")
        progress.hide()
    assert message == [""]


def test_the_reference_is_told_op_by_op():
    module = import_file(ROOT / "examples" / "decoder_backward.json")
    given = random_inputs(module, 0)
    function = entry_function(module)
    reported: list[tuple[int, int, str]] = []
    evaluate(module, [given[name] for name in input_names(function)], lambda *step: reported.append(step))
    names = [op.name for op in function.body.block.ops]
    assert reported == [(index, len(names), name) for index, name in enumerate(names)]
    assert len(names) > 3


def test_compiling_tells_its_passes(monkeypatch):
    reported = []
    monkeypatch.setattr(progress, "show", lambda *step: reported.append(step))
    compiled = gradc.compile(ROOT / "examples" / "conv_backward.mlir")
    passes = [name for _, _, name in reported]
    assert passes == re.sub(r"\{[^}]*\}", "", compiled.options.pipeline).split(",")
    assert [done for done, _, _ in reported] == list(range(len(passes)))
