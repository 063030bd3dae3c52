"""gradc-opt: what it prints where, its exit codes, and that it starts without onnx and onnxruntime."""

from __future__ import annotations

import argparse
import importlib.metadata
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.cli import quoted_below

import gradc
from dialects.support.diagnostics import UsageError
from gradc.cli import opt
from passes import pipelines
from passes.registry import all_passes
from passes.targets.target import Target

CONV = """func.func @main(%dy: tensor<1x2x5xf32>, %w: tensor<2x3x3xf32>) -> tensor<1x3x7xf32> {
  %dx = onednn.convolution_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], \
dilations = [1], data_format = "NCX", weights_format = "OIX"} : \
(tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
  func.return %dx : tensor<1x3x7xf32>
}
"""
BAD = CONV.replace("strides = [1]", "strides = [0]")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "g.mlir"
    path.write_text(CONV)
    return path


def one_line(text: str) -> str:
    """The diagnostic, below which there is nothing but what it quotes."""
    line, *quoted = text.strip().splitlines()
    assert quoted == quoted_below(line), text
    return line


def test_stdout_only(source: Path, capsys: pytest.CaptureFixture[str]):
    assert opt.main([str(source)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("builtin.module {\n  func.func @main(")
    assert not err


@pytest.mark.parametrize("args", [[], ["-"]])
def test_stdin(args: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    assert opt.main(args) == 4
    assert capsys.readouterr().err.startswith("<stdin>:2:51: error: [ConvolutionBackwardData")


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        (BAD, ":2:51", "strides axis W: given 0, expected a positive value"),
        (CONV.replace("%w {", "%v {"), ":", "not defined: [%v]"),
        (CONV.replace("{strides", "{strides strides"), ":2:", ""),
        (CONV.replace("convolution_backward_data", "convolution_backward_date"), ":2:", "did you mean"),
        (CONV.replace("func.return", "func.retour"), ":3:", "unknown op"),
        (CONV.replace("1x3x7xf32> {", "1x3x8xf32> {"), ":3:", ""),
    ],
)
def test_bad_text(source: Path, capsys: pytest.CaptureFixture[str], text: str, place: str, message: str):
    source.write_text(text)
    assert opt.main([str(source)]) == 4
    out, err = capsys.readouterr()
    assert not out
    line = one_line(err)
    assert line.startswith(f"{source}{place}")
    assert "error: " in line
    assert message in line


@pytest.mark.parametrize(
    ("passes", "code", "message"),
    [
        ("legalize-onnx", 3, "onednn.convolution_backward_data was not lowered to ONNX"),
        ("lower{strategy=resize-to-matmul}", 3, "lowers grad.resize_backward only"),
        ("inferr-types", 2, "no pass inferr-types; did you mean infer-types?"),
        ("xyzzy", 2, "no pass xyzzy; known: "),
        ("infer-types{x=1}", 2, "pass infer-types, option x: there is no such option: expected none"),
        ("legalize-onnx{opest=18}", 2, "did you mean opset?"),
        ("legalize-onnx{opset=new}", 2, "pass legalize-onnx, option opset: given new, expected int"),
        ("legalize-onnx{opset}", 2, "option opset: given no value, expected int"),
        ("legalize-onnx{opset=17,18}", 2, "option opset: given 17,18, expected int"),
        ("legalize-onnx{target=1}", 2, "option target: given 1, expected str"),
        ("legalize-onnx{target=tpu}", 2, "target: given tpu, expected one of cpu, cuda, portable"),
        ("legalize-onnx{opset=12}", 2, "opset: given 12, expected 13 or newer"),
        ("lower{opset=12}", 2, "opset: given 12, expected 13 or newer"),
        ("conv-to-conv{opset=12}", 2, "opset: given 12, expected 13 or newer"),
        ("lower{strategy=none}", 2, "strategy: given none, expected auto or the name"),
        ("infer-types{", 2, "-p cannot be read"),
        ("infer-types,,simplify", 2, "-p cannot be read"),
    ],
)
def test_bad_passes(source: Path, capsys: pytest.CaptureFixture[str], passes: str, code: int, message: str):
    assert opt.main([str(source), "-p", passes]) == code
    out, err = capsys.readouterr()
    assert not out
    line = one_line(err)
    assert "error: " in line
    assert message in line


@pytest.mark.parametrize(
    "args",
    [
        ["--nonsense"],
        ["a", "b"],
        ["-t", "nonsense"],
        ["-t", "mlir{x=1}"],
        ["-t", "mlir{"],
        ["-p"],
        ["--shrink"],
        ["--json"],
        ["-t", "elided", "--print-debuginfo"],
    ],
)
def test_bad_arguments(capsys: pytest.CaptureFixture[str], args: list[str]):
    assert opt.main(args) == 2
    assert one_line(capsys.readouterr().err).startswith("error: ")


def test_missing_file(capsys: pytest.CaptureFixture[str]):
    assert opt.main(["no/such.mlir"]) == 4
    assert one_line(capsys.readouterr().err) == "error: cannot read no/such.mlir: No such file or directory"


def test_verify_diagnostics(source: Path, capsys: pytest.CaptureFixture[str]):
    """The line on stdout, exit code 0, and places that count the lines of the whole file."""
    source.write_text(f"{BAD}\n// -----\n{CONV}// -----\n{BAD}")
    assert opt.main([str(source), "--verify-diagnostics", "--split-input-file"]) == 0
    out, err = capsys.readouterr()
    assert not err
    first, second, third = out.split("// -----\n")
    assert first.startswith(f"{source}:2:51: error: ")
    assert second.startswith("builtin.module")
    assert third.startswith(f"{source}:13:51: error: ")
    assert (first.count("\n"), third.count("\n")) == (1, 1)


def test_output_file(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    target = tmp_path / "out.mlir"
    assert opt.main([str(source), "-o", str(target)]) == 0
    out, err = capsys.readouterr()
    assert (out, err.startswith(f"wrote {target}: MLIR, ")) == ("", True)
    before = target.read_text()
    assert before.startswith("builtin.module")
    source.write_text(BAD)
    assert opt.main([str(source), "-o", str(target)]) == 4
    assert target.read_text() == before
    assert sorted(os.listdir(tmp_path)) == ["g.mlir", "out.mlir"]


def test_a_dash_is_stdout(source: Path, capsys: pytest.CaptureFixture[str], monkeypatch):
    monkeypatch.chdir(source.parent)
    assert opt.main([str(source), "-o", "-"]) == 0
    assert capsys.readouterr().out.startswith("builtin.module")
    assert os.listdir() == ["g.mlir"]


def test_no_implicit_module(source: Path, capsys: pytest.CaptureFixture[str]):
    assert opt.main([str(source), "--no-implicit-module"]) == 4
    assert "builtin.module operation expected" in one_line(capsys.readouterr().err)
    source.write_text(f"builtin.module {{\n{CONV}}}\n")
    assert opt.main([str(source), "--no-implicit-module"]) == 0


def test_every_option_says_what_it_does():
    parser = argparse.ArgumentParser()
    opt.GradcOpt("", []).register_all_arguments(parser)
    hidden = [action for action in parser._actions if action.help == argparse.SUPPRESS]
    assert [action.dest for action in hidden] == ["shrink"]
    assert all(action.help for action in parser._actions)


def test_elided(source: Path, capsys: pytest.CaptureFixture[str]):
    """Constants are written in full unless somebody asks for less."""
    numbers = ", ".join(str(float(i)) for i in range(20))
    source.write_text(
        "func.func @f() -> tensor<20xf32> {\n"
        f"  %c = onnx.Constant dense<[{numbers}]> : tensor<20xf32>\n"
        "  func.return %c : tensor<20xf32>\n}\n"
    )
    assert opt.main([str(source)]) == 0
    assert "1.900000e+01" in capsys.readouterr().out
    assert opt.main([str(source), "-t", "elided"]) == 0
    assert "dense<...> : tensor<20xf32>" in capsys.readouterr().out


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "g.json"
    path.write_text('{"graph": 1}')
    assert opt.main([str(path)]) == 4
    assert one_line(capsys.readouterr().err).startswith(f"{path}:1:")


# Pipelines


SELECT = "select-strategy"


def names(text: str) -> list[str]:
    return [pass_.name for pass_ in opt.parse_passes(text, all_passes())]


def test_named_pipelines():
    assert names("canonicalize") == list(pipelines.CANONICALIZE)
    assert names("lower") == names(pipelines.lower(Target()))
    assert names("canonicalize,simplify") == [*pipelines.CANONICALIZE, "simplify"]


def test_options_reach_the_passes():
    text = "lower{target=cuda opset=20 strategy=conv-to-conv}"
    found = opt.parse_passes(text, all_passes())
    assert found == opt.parse_passes(pipelines.lower(Target("cuda", 20), "conv-to-conv"), all_passes())
    assert {getattr(pass_, "opset", 20) for pass_ in found} == {20}
    (select,) = (
        pass_ for pass_ in opt.parse_passes("lower{threads=7}", all_passes()) if pass_.name == SELECT
    )
    assert "threads=7" in str(select)


def test_a_printed_pipeline_is_read_back():
    """What crash reproducers and metadata hold."""
    found = opt.parse_passes(pipelines.lower(Target("cuda", 21), "conv-to-conv"), all_passes())
    printed = ",".join(str(pass_.spec()) for pass_ in found)
    assert opt.parse_passes(printed, all_passes()) == found


def test_no_name_is_taken_twice():
    assert not set(opt.PIPELINES) & set(all_passes())


def test_every_pass_is_known_by_its_name():
    for name, factory in all_passes().items():
        assert factory().name == name


def test_target_refuses():
    with pytest.raises(UsageError, match="expected one of cpu, cuda, portable"):
        Target("tpu")


# The process


def test_cold_start(source: Path):
    """Neither onnx nor onnxruntime is imported, not even to lower a graph."""
    script = (
        "import sys\n"
        "from gradc.cli.opt import main\n"
        f"code = main([{str(source)!r}, '-p', 'lower'])\n"
        "print(code, sorted({'onnx', 'onnxruntime', 'torch', 'rich', 'click'} & set(sys.modules)), "
        "file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "0 []"
    assert "onnx.ConvTranspose" in done.stdout


def test_versions(capsys: pytest.CaptureFixture[str]):
    assert opt.main(["--version"]) == 0
    xdsl = importlib.metadata.version("xdsl")
    assert capsys.readouterr().out == f"gradc-opt, version {gradc.__version__}, on xDSL {xdsl}\n"


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help(option: str, capsys: pytest.CaptureFixture[str]):
    assert opt.main([option]) == 0
    assert "gradc" in capsys.readouterr().out
