"""Ctrl-C while a block begins leaves what the block would change as it was."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.interrupts import entered_interrupted
from support.terminals import terminal

import gradc
from dialects.support import limits
from dialects.support.limits import Limits
from gradc.bench.peers import onednn_graph
from gradc.files import atomic
from gradc.terminal import messages, progress


def test_limits():
    before = limits.current()
    for line in entered_interrupted(lambda: limits.using(Limits(nodes=7)), "support/limits.py", "during.py"):
        assert limits.current() == before, line
    with limits.using(Limits(nodes=7)):
        assert limits.current().nodes == 7


def test_a_graph():
    """It can be compiled again after any line of xDSL's or ours was interrupted."""
    g = gradc.Graph()
    g.output(g.relu(g.input("x", "f32", [2])), "y")
    text = str(g.module())

    @contextlib.contextmanager
    def copied() -> Iterator[None]:
        g.module()
        yield

    lines = list(entered_interrupted(copied, "gradc/builder/base.py", "xdsl/ir/core.py"))
    assert len(lines) > 10
    assert str(g.module()) == text


def test_the_form_of_what_is_said():
    for line in entered_interrupted(
        lambda: messages.using_format(messages.JSON), "gradc/terminal/messages.py", "during.py"
    ):
        assert not messages.is_json(), line
    with messages.using_format(messages.JSON):
        assert messages.is_json()


def test_the_bar(monkeypatch: pytest.MonkeyPatch):
    with terminal() as (stream, _):
        monkeypatch.setattr(sys, "stderr", stream)
        for line in entered_interrupted(progress.bar, "gradc/terminal/progress.py", "during.py"):
            assert progress._bar.get() is None, line


@pytest.mark.parametrize("nameless", [True, False])
def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nameless: bool):
    """Nothing is left for the next write to sweep up."""
    if not nameless:
        monkeypatch.setattr(atomic, "_open_nameless", lambda folder: None)
    monkeypatch.setattr(atomic, "sweep", lambda *_: None)
    for line in entered_interrupted(lambda: atomic.draft(tmp_path), "gradc/files/atomic.py"):
        assert not os.listdir(tmp_path), line


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system binds no process to cores")
def test_the_cores_of_the_process(monkeypatch: pytest.MonkeyPatch):
    """The peer's library takes its threads from the cores that the process may use when it starts."""
    cores, bind = os.sched_getaffinity(0), os.sched_setaffinity
    interrupts = [KeyboardInterrupt()]

    def interrupted(process: int, given: set[int]) -> None:
        bind(process, given)
        if interrupts:
            raise interrupts.pop()

    monkeypatch.setattr(onednn_graph, "_library_path", lambda: Path("lib/none.so"))
    monkeypatch.setattr(os, "sched_setaffinity", interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            onednn_graph.Library(1)
        assert os.sched_getaffinity(0) == cores
    finally:
        bind(0, cores)


@pytest.mark.parametrize(
    ("script", "imported", "arguments"),
    [
        ("gradc", "click", ["--help"]),
        ("gradc", "gradc.compiler.driver", ["inspect", "-"]),
        ("gradc_opt", "xdsl", ["--help"]),
        ("gradc_opt", "gradc.cli.opt_listing", ["--list-passes"]),
    ],
)
def test_a_command_of_which_a_part_is_being_imported(script: str, imported: str, arguments: list[str]):
    code = f"""
import sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "{imported}":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
from gradc.cli import scripts
sys.exit(scripts.{script}())
"""
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "\n")
