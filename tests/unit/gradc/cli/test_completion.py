"""What a shell is offered, by the protocol that shells speak, and in bash itself."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.cli import run_gradc

from dialects.support.limits import names
from gradc.cli import completion, opt
from gradc.cli.main import cli
from gradc.compiler.pipeline_text import PIPELINES
from gradc.problems import KINDS
from passes import PASS_NAMES, STRATEGY_NAMES
from passes.registry import all_passes
from passes.targets import TARGETS

ROOT = Path(__file__).resolve().parents[4]


def offered(monkeypatch, line: str, program: str = "gradc") -> list[tuple[str, str]]:
    """(type, word) of each offer for a line that ends at the cursor."""
    words = line.split(" ")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    variable = completion.VARIABLE if program == "gradc" else completion.OPT_VARIABLE
    monkeypatch.setenv(variable, "bash_complete")
    result = run_gradc()
    assert (result.code, result.err) == (0, "")
    return [tuple(found.split(",", 1)) for found in result.out.splitlines()]


def words(monkeypatch, line: str, program: str = "gradc") -> list[str]:
    return [word for _, word in offered(monkeypatch, line, program)]


class TestWords:
    def test_commands(self, monkeypatch):
        assert words(monkeypatch, "gradc ") == sorted(cli.commands)
        assert words(monkeypatch, "gradc comp") == ["compile", "completion"]

    def test_options(self, monkeypatch):
        assert "--stop-after" in words(monkeypatch, "gradc compile --st")

    @pytest.mark.parametrize("command", ["compile", "run", "verify", "explain", "reduce"])
    def test_strategies(self, monkeypatch, command: str):
        assert words(monkeypatch, f"gradc {command} --strategy ") == ["auto", *STRATEGY_NAMES]

    def test_strategies_of_a_race(self, monkeypatch):
        own = [name for name in STRATEGY_NAMES if name.startswith("a")]
        assert words(monkeypatch, "gradc bench --strategy a") == ["auto", *own, "all"]

    def test_passes(self, monkeypatch):
        assert words(monkeypatch, "gradc compile --stop-after ") == list(PASS_NAMES)

    def test_kinds_of_problems_or_else_files(self, monkeypatch):
        assert words(monkeypatch, "gradc bench conv") == [f"{k}," for k in KINDS if k.startswith("conv")]
        assert offered(monkeypatch, "gradc bench exam") == [("file", "exam")]

    def test_limits(self, monkeypatch):
        assert words(monkeypatch, "gradc run --limit ") == [f"{name}=" for name in names()]

    def test_targets(self, monkeypatch):
        assert words(monkeypatch, "gradc compile --target ") == [*TARGETS]

    def test_peers(self, monkeypatch):
        assert words(monkeypatch, "gradc bench --peers torch,on") == [
            "torch,onednn",
            "torch,onnx-ad",
            "torch,onnxslim",
        ]

    @pytest.mark.parametrize("line", ["compile ", "compile -o ", "run --inputs ", "bench --json "])
    def test_files(self, monkeypatch, line: str):
        assert [kind for kind, _ in offered(monkeypatch, f"gradc {line}")] == ["file"]

    def test_pipelines(self, monkeypatch):
        known = [*PIPELINES, *all_passes()]
        assert words(monkeypatch, "gradc-opt -p ", "gradc-opt") == known
        found = words(monkeypatch, "gradc-opt -p infer-types,conv-to-c", "gradc-opt")
        assert found == [f"infer-types,{name}" for name in known if name.startswith("conv-to-c")]
        assert words(monkeypatch, "gradc reduce g.mlir -p lower,simp") == ["lower,simplify"]


def test_gradc_opt_has_the_options_that_are_offered():
    """They are listed by hand: the parser that reads them cannot say."""
    parser = argparse.ArgumentParser()
    opt.GradcOpt("", []).register_all_arguments(parser)
    options = {name for option in completion.opt_command().params for name in option.opts if name[0] == "-"}
    assert options <= set(parser._option_string_actions)


def test_it_imports_little():
    """A shell waits: neither numpy nor onnx is needed to list commands and options."""
    script = (
        "import sys\n"
        "from gradc.cli.main import main\n"
        "try: main()\n"
        "finally: print({'numpy', 'onnx', 'xdsl', 'rich'} & set(sys.modules), file=sys.stderr)\n"
    )
    request = {"COMP_WORDS": "gradc compile --st", "COMP_CWORD": "2", "_GRADC_COMPLETE": "bash_complete"}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=os.environ | request, capture_output=True, text=True
    )
    assert "plain,--stop-after" in done.stdout
    assert done.stderr.strip() == "set()"


class TestScripts:
    @pytest.mark.parametrize("shell", completion.SHELLS)
    def test_both_programs(self, shell: str):
        if shell == "bash" and shutil.which("bash") is None:
            pytest.skip("there is no bash")
        text = run_gradc("completion", shell).out
        assert f"{completion.VARIABLE}={shell}_complete" in text
        assert f"{completion.OPT_VARIABLE}={shell}_complete" in text
        assert " gradc-opt)" not in text

    def test_another_shell(self):
        result = run_gradc("completion", "bsh")
        assert result.code == 2
        assert "Did you mean bash or zsh?" in result.err

    @pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
    @pytest.mark.parametrize(
        ("program", "line", "expected"),
        [
            ("gradc", "gradc compile --strategy conv-to-conv", "conv-to-conv conv-to-conv2d"),
            ("gradc", "gradc comp", "compile completion"),
            ("gradc-opt", "gradc-opt -p infer-types,resolve", "infer-types,resolve-auto-pad"),
        ],
    )
    def test_in_bash(self, tmp_path: Path, program: str, line: str, expected: str):
        (tmp_path / "completion").write_text(run_gradc("completion", "bash").out)
        command = tmp_path / "gradc"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gradc.cli.main "$@"\n')
        command.chmod(0o755)
        function = f"_{program.replace('-', '_')}_completion"
        count = len(line.split()) - 1
        script = (
            f'source "{tmp_path}/completion"\ncomplete -p {program} >&2\n'
            f'COMP_WORDS=({line})\nCOMP_CWORD={count}\n{function} {program}\necho "${{COMPREPLY[@]}}"\n'
        )
        paths = os.pathsep.join((str(tmp_path), os.environ["PATH"]))
        python = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            env=os.environ | {"PATH": paths, "PYTHONPATH": python},
            capture_output=True,
            text=True,
            check=True,
        )
        assert function in done.stderr
        assert done.stdout.strip().startswith(expected)
