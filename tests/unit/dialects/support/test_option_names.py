"""Messages spell options as they can be given: in Python, on a command line, as options of passes."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import click
import onnx
import onnx.parser
import pytest
from support.cli import run_gradc, run_opt
from support.documents import CONV, text_of
from support.sources import ONE_WORKER, tree
from xdsl.dialects.builtin import ModuleOp

import gradc
from dialects.support import limits, option_names
from dialects.support.option_names import Place
from gradc.cli.main import cli
from gradc.inspection.explain import as_text, explain

ROOT = Path(__file__).parents[4]
LAYERS = ("dialects", "passes", "gradc")
COMMANDS = re.compile(
    r"gradc/cli/.*|gradc/(.*/)?(messages|command|__main__)\.py"
    r"|gradc/(upkeep|reduction|bench)/.*|gradc/reporting/request\.py"
    r"|dialects/onnx/schema\.py|dialects/onednn/stubs\.py|dialects/support/option_names\.py"
)
"""What only command lines reach, and what spells options."""


def literals(path: Path) -> list[str]:
    """Strings of a file but for its docstrings; of one with holes, its text around them."""
    parsed = tree(path)
    alone = {id(node.value) for node in ast.walk(parsed) if isinstance(node, ast.Expr)}
    holed = [node for node in ast.walk(parsed) if isinstance(node, ast.JoinedStr)]
    parts = [[p.value for p in node.values if isinstance(p, ast.Constant)] for node in holed]
    inner = {id(part) for node in holed for part in node.values}
    whole = [
        node for node in ast.walk(parsed) if isinstance(node, ast.Constant) and id(node) not in alone | inner
    ]
    return ["".join(map(str, part)) for part in parts] + [n.value for n in whole if isinstance(n.value, str)]


@ONE_WORKER
def test_no_message_spells_an_option_by_itself():
    """A whole command (`gradc verify --report`) is right wherever it stands."""
    files = [path for layer in LAYERS for path in sorted((ROOT / layer).rglob("*.py"))]
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
    with option_names.using(place):
        assert tuple(option_names.option(*one) for one in given) == options
        assert option_names.limit("file-bytes", 9) == limit
    assert option_names.current() is Place.PYTHON


PUBLIC = (gradc.compile, gradc.grad, gradc.ggnvp, gradc.hvp, gradc.report, gradc.train_step)


def options_of(command: click.Command) -> set[str]:
    return {word for param in command.params for word in (*param.opts, *param.secondary_opts)}


def arguments_of(function: Callable[..., object]) -> set[str]:
    return set(inspect.signature(function).parameters)


@cache
def named_options() -> set[tuple[str, str]]:
    """The option and the file of each `option("name")` and `advice("name", ...)` of the sources."""
    files = [path for layer in LAYERS for path in sorted((ROOT / layer).rglob("*.py"))]
    calls = [(path, node) for path in files for node in ast.walk(tree(path))]
    return {
        (str(node.args[0].value), path.relative_to(ROOT).as_posix())
        for path, node in calls
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args
        if node.func.id in ("option", "advice") and isinstance(node.args[0], ast.Constant)
    }


@ONE_WORKER
def test_what_messages_name_is_an_option_of_something():
    known = {name for function in PUBLIC for name in arguments_of(function)}
    words = {word for command in cli.commands.values() for word in options_of(command)}
    known |= {word.lstrip("-").replace("-", "_") for word in words}
    known |= {name for name, word in option_names.ONE_BY_ONE.items() if word.replace("-", "_") in known}
    assert {(name, file) for name, file in named_options() if name not in known} == set()


SINE = "(float[3] x, float[3] z) => (float[3] y) { y = Sin(x) }"
QUANTIZED = """(float[3] x, float[3] z) => (float[3] y)
<float s = {0.5}, uint8 p = {3}> { q = QuantizeLinear(x, s, p)  y = DequantizeLinear(q, s, p) }"""
TAKEN = "(float[3] x, float[1] grad_x) => (float[1] y) { t = Mul(x, x)  y = ReduceSum(t) }"
UNKNOWN = "(float[3] x) => (float[3] y) { y = com.example.Ramp(x) }"


def asked_for(function: Callable[..., object]) -> list[tuple[str, dict[str, object]]]:
    """Requests that are refused, or remarked on, with a remedy."""
    cotangents = {} if function is gradc.hvp else {"cotangents": True}
    whole = cotangents or {"reduce": "sum"}
    return [
        (SINE, {"wrt": "x"}),
        (SINE, {"wrt": "z", **whole}),
        (QUANTIZED, {"wrt": "x", **whole}),
        (TAKEN, {"wrt": "x", **whole}),
        (UNKNOWN, {"wrt": "x", **whole}),
    ]


def model_of(graph: str) -> onnx.ModelProto:
    header = '<ir_version: 10, opset_import: ["": 21, "com.example": 1]> g '
    return onnx.parser.parse_model(header + graph)


@ONE_WORKER
@pytest.mark.parametrize("function", [gradc.grad, gradc.hvp], ids=["grad", "hvp"])
def test_a_function_is_advised_to_take_its_own_arguments(function: Callable[..., gradc.Compiled]):
    known = {name for name, _ in named_options()}
    for graph, given in asked_for(function):
        try:
            expected_message = [remark.message for remark in function(model_of(graph), **given).remarks]
        except gradc.GradcError as error:
            expected_message = [diagnostic.message for diagnostic in error.diagnostics]
        words = {word for text in expected_message for word in re.findall(r"\w+(?=[= ])", text)}
        foreign = (words & known) - arguments_of(function)
        assert not {word for word in foreign if "_" in word or word == "cotangents"}, expected_message


@pytest.mark.parametrize("name", ["explain", "grad", "report", "verify"])
@pytest.mark.parametrize(
    "graph", [SINE, QUANTIZED, TAKEN, UNKNOWN], ids=["sin", "rounded", "taken", "unknown"]
)
def test_a_command_is_advised_to_take_its_own_options(name: str, graph: str, tmp_path: Path):
    path = tmp_path / "model.onnx"
    onnx.save(model_of(graph), path)
    output = {"grad": ["-o", tmp_path / "g.onnx"], "report": ["-o", tmp_path / "r.html"]}.get(name, [])
    for wrt in ("x", "z"):
        expected_message = re.sub(r"gradc \w+ --\S+", "", run_gradc(name, path, "--wrt", wrt, *output).err)
        assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", expected_message)) <= options_of(
            cli.commands[name]
        ), expected_message


def test_an_argument_that_hvp_does_not_take_is_no_remedy_for_it():
    with pytest.raises(
        gradc.UsageError, match="reduce takes sum or mean, or name one element, such as y"
    ) as caught:
        gradc.hvp(model_of(SINE), wrt="x")
    assert "cotangents" not in str(caught.value)


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

    expected_message = explained(load(conv))
    shown = run_gradc("explain", conv).out
    assert "for strict_ieee=True only" in expected_message
    assert "for --strict-ieee only" in shown
