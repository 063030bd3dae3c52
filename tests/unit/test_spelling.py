"""Messages spell options as they can be given: in Python, on a command line, as options of passes."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from support.cli import run_gradc, run_opt
from support.documents import CONV, text_of
from xdsl.dialects.builtin import ModuleOp

import gradc
from dialects.support import limits, spelling
from dialects.support.spelling import Place
from gradc.insight.explain import as_text, explain

ROOT = Path(__file__).parents[2]
ROOMS = ("dialects", "passes", "gradc")
COMMANDS = re.compile(
    r"gradc/cli/.*|gradc/(.*/)?(messages|command|__main__)\.py"
    r"|gradc/(upkeep|reduction|bench)/.*|gradc/reporting/request\.py"
    r"|dialects/onnx/schema\.py|dialects/onednn/stubs\.py|dialects/support/spelling\.py"
)
"""What only command lines reach, and what spells options."""


def literals(path: Path) -> list[str]:
    """Strings of a file but for its docstrings; of one with holes, its text around them."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    holed = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    parts = [[p.value for p in node.values if isinstance(p, ast.Constant)] for node in holed]
    inner = {id(part) for node in holed for part in node.values}
    whole = [
        node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in alone | inner
    ]
    return ["".join(map(str, part)) for part in parts] + [n.value for n in whole if isinstance(n.value, str)]


def test_no_message_spells_an_option_by_itself():
    """A whole command (`gradc verify --report`) is right wherever it stands."""
    files = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
    free = {path: path.relative_to(ROOT).as_posix() for path in files}
    found = {
        f"{name}: {text}"
        for path, name in free.items()
        if not COMMANDS.fullmatch(name)
        for text in literals(path)
        if re.search(r"(?<![\w-])--[a-z]", text) and "gradc" not in text
    }
    assert found == {f"dialects/support/limits.py: {limits.OPTION}"}


@pytest.mark.parametrize(
    ("place", "options", "limit"),
    [
        (Place.PYTHON, ("opset", "opset=18", "tune=True", "shapes"), "limits=gradc.Limits(file_bytes=9)"),
        (Place.PASSES, ("opset", "opset=18", "tune=True", "shapes"), "--limit file-bytes=9"),
        (Place.COMMAND_LINE, ("--opset", "--opset 18", "--tune", "--shape"), "--limit file-bytes=9"),
    ],
)
def test_spellings(place, options, limit):
    given = (("opset",), ("opset", 18), ("tune", True), ("shapes",))
    with spelling.using(place):
        assert tuple(spelling.option(*one) for one in given) == options
        assert spelling.limit("file-bytes", 9) == limit
    assert spelling.current() is Place.PYTHON


@pytest.fixture
def conv(tmp_path) -> Path:
    path = tmp_path / "conv.json"
    path.write_text(text_of(CONV), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("arguments", "line", "keywords", "raised"),
    [
        (["--opset", "12"], "--opset: given 12", {"opset": 12}, "opset: given 12"),
        (["--strategy", "x"], "--strategy: given x", {"strategy": "x"}, "strategy: given x"),
        (
            ["--shape", "a=1"],
            "--shape: given a, expected --tune, ",
            {"shapes": {"a": [1]}},
            "expected tune=True",
        ),
        (
            ["--limit", "ops=1"],
            "--limit ops=4 raises",
            {"limits": gradc.Limits(ops=1)},
            "limits=gradc.Limits(ops=4)",
        ),
    ],
)
def test_each_place_has_its_own(conv, arguments, line, keywords, raised):
    result = run_gradc("compile", conv, "-o", conv.with_suffix(".onnx"), *arguments)
    assert line in result.err
    with pytest.raises(gradc.GradcError) as caught:
        gradc.compile(conv, **keywords)
    assert raised in str(caught.value)
    assert "--" not in str(caught.value)


def test_passes_have_the_names_of_python(conv):
    assert "error: strategy: given none" in run_opt(conv, "-p", "lower{strategy=none}").err


def test_reasons_are_remembered_for_each_place(conv):
    """Python first: the words of a refusal must not be kept for a command line in the same process."""

    def explained(module: ModuleOp) -> str:
        from gradc.compiler.options import Options

        return as_text(explain(module, Options(), {}))

    from gradc.compiler.driver import load

    said = explained(load(conv))
    shown = run_gradc("explain", conv).out
    assert "for strict_ieee=True only" in said
    assert "for --strict-ieee only" in shown
