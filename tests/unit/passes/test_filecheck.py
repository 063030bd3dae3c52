"""Runs the RUN lines of tests/filecheck, in process, and names missing files.

A RUN line is `[not] gradc-opt ARGS [2>&1] [| gradc-opt ARGS] [| filecheck ARGS]`, with `%s` for the
file. Every command must succeed, after `not` it must fail.
"""

from __future__ import annotations

import io
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest
from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import parse_argv_options
from filecheck.parser import Parser

from dialects import DIALECTS
from dialects.onednn import NAMES as ROW_NAMES
from gradc.cli import opt
from passes.registry import all_passes

ROOT = Path(__file__).parents[2] / "filecheck"
FILES = sorted(ROOT.rglob("*.mlir"))
RUN = re.compile(r"^// RUN: (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Command:
    words: tuple[str, ...]
    fails: bool
    with_stderr: bool


@dataclass(frozen=True)
class Result:
    code: int
    stdout: str
    stderr: str


def commands(line: str, path: Path) -> Iterator[Command]:
    """The commands of one RUN line."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|")
    lexer.whitespace_split = True
    lexer.commenters = ""
    words = [str(path) if word == "%s" else word for word in lexer]
    while words:
        end = words.index("|") if "|" in words else len(words)
        command, words = words[:end], words[end + 1 :]
        with_stderr = "2>&1" in command
        kept = [word for word in command if word != "2>&1"]
        fails = kept[0] == "not"
        yield Command(tuple(kept[1:] if fails else kept), fails, with_stderr)


def run(command: Command, stdin: str) -> Result:
    program = {"gradc-opt": gradc_opt, "filecheck": filecheck}[command.words[0]]
    with redirect_stdout(io.StringIO()) as stdout, redirect_stderr(io.StringIO()) as stderr:
        code = program(command.words[1:], stdin)
    return Result(code, stdout.getvalue(), stderr.getvalue())


def gradc_opt(args: Sequence[str], stdin: str) -> int:
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(stdin.encode()))
    try:
        return opt.main(args)
    finally:
        sys.stdin = before


def filecheck(args: Sequence[str], stdin: str) -> int:
    options = parse_argv_options(["filecheck", *args])
    matcher = Matcher(options, FInput("-", stdin), Parser.from_opts(options))
    matcher.stderr = sys.stderr
    return matcher.run()


def check(line: str, path: Path) -> None:
    """Run one RUN line; AssertionError says which command went wrong, and how."""
    text = ""
    for command in commands(line, path):
        result = run(command, text)
        shown = f"{shlex.join(command.words)}: exit code {result.code}\n{result.stdout}{result.stderr}"
        assert (result.code != 0) == command.fails, shown
        text = result.stderr + result.stdout if command.with_stderr else result.stdout


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_file(path: Path):
    lines = RUN.findall(path.read_text(encoding="utf-8"))
    assert lines, "no RUN line"
    for line in lines:
        check(line, path)


# The runner itself must be able to fail.

IDENTITY = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}
"""


@pytest.mark.parametrize(
    ("run_line", "check_line", "message"),
    [
        ("gradc-opt %s | filecheck %s", "tensor<3xf32>", "Couldn't match"),
        ("not gradc-opt %s", "", "exit code 0"),
        ("gradc-opt %s -p nonsense", "", "exit code 2"),
        ("gradc-opt %s | gradc-opt -p nonsense | filecheck %s", "", "exit code 2"),
    ],
)
def test_runner_fails(tmp_path: Path, run_line: str, check_line: str, message: str):
    path = tmp_path / "t.mlir"
    path.write_text(IDENTITY + f"// CHECK: {check_line}\n")
    with pytest.raises(AssertionError, match=message):
        check(run_line, path)


def test_runner_passes(tmp_path: Path):
    path = tmp_path / "t.mlir"
    path.write_text(IDENTITY + "// CHECK: func.return %x\n")
    check("gradc-opt %s | gradc-opt | filecheck %s", path)
    check("not gradc-opt %s -p nonsense 2>&1", path)


# Missing files


@pytest.mark.parametrize("name", list(all_passes()))
def test_every_pass_has_a_file(name: str):
    path = ROOT / "passes" / f"{name}.mlir"
    assert path.exists(), f"missing: {path.relative_to(ROOT)}"
    pattern = rf"^// RUN: .*-p ['\"]?(?:[\w,{{}}= -]*,)?{name}\b"
    assert re.search(pattern, path.read_text(), re.MULTILINE), f"{path.name} does not run {name}"


OWN_DIALECTS = ("onednn", "cann", "grad", "onnx")


def text_of(dialect: str, pattern: str) -> str:
    """The files of a dialect; one op may have its own."""
    return "\n".join(path.read_text() for path in sorted((ROOT / "dialects" / dialect).glob(pattern)))


@pytest.mark.parametrize("dialect", OWN_DIALECTS)
def test_every_op_round_trips(dialect: str):
    text = text_of(dialect, "*.mlir")
    ops = {op.name for op in DIALECTS[dialect]().operations} - set(ROW_NAMES)
    missing = ops - set(re.findall(rf"^ *(?:%.+ = )?({dialect}\.\w+)", text, re.MULTILINE))
    assert not missing, f"missing: {', '.join(sorted(missing))} in tests/filecheck/dialects/{dialect}/*.mlir"


def documented_constraints() -> Iterator[tuple[str, str, str]]:
    """(dialect, op, constraint) for every C<n> of an op's docstring."""
    for dialect in ("onednn", "cann", "grad"):
        for op in DIALECTS[dialect]().operations:
            if op.name in ROW_NAMES:
                continue  # tests/property/test_op_specs.py has those of the families
            for constraint in dict.fromkeys(re.findall(r"\bC\d+(?= )", op.__doc__ or "")):
                yield dialect, op.name, constraint


@pytest.mark.parametrize(("dialect", "op", "constraint"), list(documented_constraints()))
def test_every_constraint_is_refused(dialect: str, op: str, constraint: str):
    """A case says `// <op> C<n>: what is wrong`, and the error is on the next line."""
    case = rf"^// {re.escape(op)} {constraint}\b.*\n// CHECK.*: error: "
    found = re.search(case, text_of(dialect, "*_invalid.mlir"), re.MULTILINE)
    where = f"tests/filecheck/dialects/{dialect}/*_invalid.mlir"
    assert found, (
        f"missing: a case `// {op} {constraint}: what is wrong` and its `// CHECK: ... error:` in {where}"
    )
