"""Files that commands write are reported in one line on stderr, unless `-q` is given, which all have."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import numpy as np
import pytest
from support.cli import run_gradc, run_opt

import gradc
from gradc.cli.main import cli
from gradc.derivatives import request

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CONV, RESIZE = EXAMPLES / "conv_backward.mlir", EXAMPLES / "resize_dynamic.mlir"
MLIR = """func.func @main(%x: tensor<2x3xf32>) -> tensor<f32> {
  %s = onnx.Exp %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %y = onnx.ReduceSum %s { keepdims = 0 } : (tensor<2x3xf32>) -> tensor<f32>
  func.return %y : tensor<f32>
}
"""

COMMANDS = {
    "model": (["compile", RESIZE, "-o"], "o.onnx", r"\d+ nodes, \S+ kB, opset 18, cpu"),
    "IR": (["compile", RESIZE, "--emit", "mlir", "-o"], "o.mlir", r"MLIR, \S+ kB"),
    "arrays": (["run", CONV, "-o"], "o.npz", r"1 array, \S+ kB"),
    "page": (["report", CONV, "--no-run", "-o"], "o.html", r"HTML, \S+ kB"),
    "small graph": (["reduce", CONV, "--interesting", "true {}", "--tests", 5, "-o"], "o.mlir", r"MLIR, .*"),
}


def written(result, path: Path) -> list[str]:
    assert result.code == 0, result.err
    return [line for line in result.written if line.startswith(f"wrote {path}: ")]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_written_file_is_reported(command, tmp_path):
    words, file, about = COMMANDS[command]
    if command == "page":
        pytest.importorskip("jinja2")
    path = tmp_path / file
    (line,) = written(run_gradc(*words, path), path)
    assert re.fullmatch(about, line.removeprefix(f"wrote {path}: "))
    assert run_gradc(*words, path, "-q").err == ""


def test_gradc_opt_reports_and_keeps_quiet(tmp_path):
    path = tmp_path / "o.mlir"
    (line,) = written(run_opt(CONV, "-o", path), path)
    assert line.endswith(f": MLIR, {path.stat().st_size} bytes")
    assert run_opt(CONV, "-o", path, "--quiet").err == ""


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_every_command_has_quiet(name):
    assert sum("-q" in param.opts for param in cli.commands[name].params) == 1


def is_shown(param: click.Parameter) -> bool:
    return isinstance(param, click.Option) and not param.hidden


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_the_help_of_a_command_fits_a_screen(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    command = cli.commands[name]
    assert len(run_gradc(name, "--help").out.splitlines()) <= 40
    every = run_gradc(name, "--help-all").out
    known = {option for param in command.params for option in param.opts}
    assert set(getattr(command, "common", ())) <= known
    assert all(param.opts[-1] in every for param in command.params if is_shown(param))


class TestGradient:
    @pytest.fixture
    def source(self, tmp_path) -> Path:
        path = tmp_path / "exp.mlir"
        path.write_text(MLIR)
        return path

    @pytest.mark.parametrize(
        ("options", "checked"),
        [
            ([], r"proved: 2 of 2 ops and the whole, worst \de-\d\d"),
            (["--no-check"], r"not checked \(--no-check\)"),
        ],
    )
    def test_the_check_is_reported(self, options, checked, source, tmp_path):
        path = tmp_path / "grad.onnx"
        (line,) = written(run_gradc("grad", source, "-o", path, *options), path)
        assert re.search(rf"opset 18, cpu; {checked}$", line)
        assert run_gradc("grad", source, "-o", path, *options, "-q").err == ""

    def test_a_limit_is_reported(self, source, tmp_path, monkeypatch):
        monkeypatch.setattr("gradc.verification.prove.estimate_seconds", lambda plan: 1e9)
        path = tmp_path / "grad.onnx"
        (line,) = written(run_gradc("grad", source, "-o", path), path)
        assert line.endswith("; the whole takes more than the time or memory of the check")
        assert gradc.grad(source, check=False).proof.status == "not checked"

    def test_json(self, source, tmp_path):
        path = tmp_path / "grad.onnx"
        found = json.loads(run_gradc("grad", source, "-o", path, "--json").out)
        assert found["check"]["status"] == "proved"
        assert found["gradients"] == {"x": "grad_x"}
        assert found["bytes"] == path.stat().st_size
        assert run_gradc("grad", source, "-o", "-", "--json").code == 2


class TestResults:
    """`--rename` takes names of the source first, then those of results; `--scale` final names."""

    @pytest.fixture
    def source(self, tmp_path) -> Path:
        path = tmp_path / "exp.mlir"
        path.write_text(MLIR)
        return path

    def test_a_result_is_renamed_and_scaled(self, source, tmp_path):
        path, x = tmp_path / "grad.onnx", np.ones((2, 3), np.float32)
        options = ["--rename", "x=positions", "--rename", "grad_positions=forces", "--scale", "forces=-0.3"]
        (line,) = written(run_gradc("grad", source, "-o", path, *options), path)
        assert "; proved: 2 of 2 ops" in line
        request = {"rename": {"x": "positions", "grad_positions": "forces"}, "scale": {"forces": -0.3}}
        found = gradc.grad(source, **request)
        assert dict(found.gradients) == {"positions": "forces"}
        np.testing.assert_allclose(found.run({"positions": x})["forces"], -0.3 * np.exp(x), rtol=1e-6)
        reported = {p.key: p.value for p in found.model.metadata_props}
        assert json.loads(reported["gradc.scales"]) == {"forces": -0.3}

    def test_a_scale_of_zero_and_of_a_kept_result(self, source):
        x = np.ones((2, 3), np.float32)
        found = gradc.value_and_grad(source, rename={"y": "loss"}, scale={"grad_x": 0, "loss": 2})
        got = found.run({"x": x})
        assert not got["grad_x"].any()
        np.testing.assert_allclose(got["loss"], 2 * np.exp(x).sum(), rtol=1e-6)

    def test_a_wrong_scale_is_found(self, source, monkeypatch):
        right = request.scale_results
        monkeypatch.setattr(request, "scale_results", lambda *given: dict.fromkeys(right(*given), 2.0))
        with pytest.raises(gradc.CheckError):
            gradc.grad(source, scale={"grad_x": 3.0})

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--rename", "grad_y=f"], "did you mean grad_x?"),
            (["--rename", "x=pos", "--wrt", "x"], "--wrt: given x, expected pos, its name by --rename"),
            (["--rename", "grad_x=x"], "different names for inputs and outputs"),
            (["--scale", "grad_xx=2"], "did you mean grad_x?"),
            (["--scale", "grad_x=two"], "is not of the form NAME=NUMBER"),
            (["--scale", "grad_x=inf"], "is not of the form NAME=NUMBER"),
        ],
    )
    def test_wrong_names_and_numbers(self, options, message, source, tmp_path):
        found = run_gradc("grad", source, "-o", tmp_path / "g.onnx", *options)
        assert (found.code, message in found.err) == (2, True), found.err


PATTERN = """func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %w = onnx.Constant dense<[1.0, 2.0]> : tensor<2xf32>
  %v = onnx.Constant dense<[3.0, 4.0]> : tensor<2xf32>
  %a = onnx.Mul %x, %w : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %b = onnx.Exp %v : (tensor<2xf32>) -> tensor<2xf32>
  func.return %a, %b : tensor<2xf32>, tensor<2xf32>
}
"""


class TestPatterns:
    @pytest.mark.parametrize("weights_as_inputs", [True, False])
    def test_a_weight_without_influence_is_left_out(self, weights_as_inputs, tmp_path):
        path = tmp_path / "two.mlir"
        path.write_text(PATTERN)
        request = {"of": "a", "reduce": "sum", "weights_as_inputs": weights_as_inputs}
        found = gradc.grad(path, wrt="?", **request)
        assert set(found.gradients) <= {"x", "w", "a"}
        assert "v" not in found.gradients
        assert "a does not depend on" in str(found.remarks)
        with pytest.raises(gradc.UsageError, match="does not depend on v"):
            gradc.grad(path, wrt=["w", "v"], **request)
        assert "v" in gradc.grad(path, wrt="?", allow_unused=True, **request).gradients
