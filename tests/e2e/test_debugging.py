"""docs/debugging.md: its commands do what it says when something fails."""

import re
import shlex
import tempfile
from pathlib import Path

import pytest
from support.cli import Result, run_gradc, run_opt
from support.documents import text_of, two_convolutions

from gradc.crash import heading
from gradc.recipes import Recipe
from passes.resolve_auto_pad import ResolveAutoPadPass

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "debugging.md").read_text(encoding="utf-8")
LINES = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
COMMANDS = [words for line in LINES if (words := shlex.split(line, comments=True))]


def run(words: list[str]) -> Result:
    program, *args = words
    return run_opt(*args) if program == "gradc-opt" else run_gradc(*args)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """The files that the commands name, where resolve-auto-pad fails."""

    def fails(*_):
        raise ValueError("no such luck")

    crashes = tmp_path / "crashes"
    crashes.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(crashes))
    monkeypatch.chdir(tmp_path)
    Path("graph.json").write_text(text_of(two_convolutions()), encoding="utf-8")
    (tmp_path / "graph.mlir").symlink_to(ROOT / "examples" / "conv_backward.mlir")
    (tmp_path / "is_bad.sh").write_text("#!/bin/sh\ngrep -q onednn.convolution $1\n")
    (tmp_path / "is_bad.sh").chmod(0o755)
    monkeypatch.setattr(ResolveAutoPadPass, "apply", fails)
    assert run_gradc("compile", "graph.json", "-o", "graph.onnx").code == 70
    (file,) = crashes.iterdir()
    file.rename("gradc-crash-0123456789ab.mlir")
    return tmp_path


@pytest.mark.parametrize("words", [w for w in COMMANDS if w[1] in ("reduce", "--replay")], ids=" ".join)
def test_commands_on_what_fails(words, folder):
    if "sh -c" in words[-1]:
        assert run(words).code == 4  # no graph of ours has this refusal
        return
    result = run(words)
    assert result.code == (70 if words[0] == "gradc-opt" else 0), result.err
    if words[1] == "reduce":
        assert re.search(r"-> 1 op on 2 elements, \d+ tests$", result.err)
        assert (folder / "small.mlir").read_text(encoding="utf-8").startswith("// ")


@pytest.mark.parametrize("words", [w for w in COMMANDS if w[1] not in ("reduce", "--replay")], ids=" ".join)
def test_commands_on_what_does_not_fail(words, folder, monkeypatch):
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert run(words).code == 0


def test_the_file_looks_as_it_is_told():
    (shown,) = re.findall(r"```text\n(// gradc crash.*?)```", PAGE, re.DOTALL)
    written = heading(
        Recipe("passes", "pass select-strategy", "ValueError"), "no such luck", "gradc-opt -p X"
    )
    starts = [line[:16] for line in written.splitlines()]
    assert [line[:16] for line in shown.splitlines()] == [*starts, "builtin.module {"]
