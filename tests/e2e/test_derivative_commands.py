"""The commands `gradc grad`, `hvp` ...: what they share, and their results on one model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import gradc
from tests.support.cli import run_gradc

MODEL = """<ir_version: 10, opset_import: ["": 18]>
polynomial (float[2,3] x, float[2,3] w) => (float[2,3] y) {
    square = Mul(x, x)
    y = Mul(square, w)
}"""

X = np.float32([[1, 2, 3], [-1, 0.5, 0]])
V = np.float32([[1, -1, 2], [0.25, 3, 1]])
W = np.float32([[2, 3, 4], [5, 6, 7]])


@pytest.fixture
def source(tmp_path: Path) -> Path:
    onnx.save(onnx.parser.parse_model(MODEL), path := tmp_path / "polynomial.onnx")
    return path


def run(path: Path, **fed: np.ndarray) -> dict[str, np.ndarray]:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(None, fed), strict=True))


def test_hvp(source: Path, tmp_path: Path):
    out = tmp_path / "hvp.onnx"
    told = run_gradc("hvp", source, "--wrt", "x", "--reduce", "sum", "-o", out, "--json")
    assert told.code == 0, told.err
    found = json.loads(told.out)
    assert found["derivatives"] == [{"result": "hvp_x", "kind": "hvp", "of": ["y"], "wrt": ["x", "x"]}]
    assert found["cotangents"] == {"x": "tangent_x"}
    assert found["check"]["status"] == "proved"
    np.testing.assert_allclose(run(out, x=X, w=W, tangent_x=V)["hvp_x"], 2 * W * V, rtol=1e-6)


def test_names_of_hvp(source: Path, tmp_path: Path):
    out = tmp_path / "hvp.onnx"
    template = "{name}.{what}"
    run_gradc("hvp", source, "--wrt", "x", "--reduce", "sum", "--name-template", template, "-o", out)
    graph = onnx.load(out).graph
    assert [one.name for one in graph.input] == ["x", "w", "x.tangent"]
    assert [one.name for one in graph.output] == ["x.hvp"]


@pytest.mark.parametrize("command", ["grad", "hvp"])
def test_no_output(source: Path, command: str):
    assert "Missing option '-o'" in run_gradc(command, source, "--wrt", "x").err


@pytest.mark.parametrize("command", ["grad", "hvp"])
def test_stop_after(source: Path, command: str):
    given = (command, source, "--wrt", "x", "--reduce", "sum", "--stop-after", "infer-types")
    assert "onnx.Mul" in run_gradc(*given).out
    assert "--json and --external-data" in run_gradc(*given, "--json").err


@pytest.mark.parametrize("command", ["grad", "hvp"])
def test_a_command_writes_the_model_of_its_function(source: Path, tmp_path: Path, command: str):
    out = tmp_path / "derivative.onnx"
    assert run_gradc(command, source, "--wrt", "x", "--reduce", "sum", "-o", out).code == 0
    assert onnx.load(out) == getattr(gradc, command)(str(source), wrt="x", reduce="sum").proto


def test_jvp(source: Path, tmp_path: Path):
    out = tmp_path / "jvp.onnx"
    told = run_gradc("jvp", source, "--wrt", "x", "--wrt", "w", "--keep-outputs", "of", "-o", out, "--json")
    assert told.code == 0, told.err
    found = json.loads(told.out)
    assert found["derivatives"] == [{"result": "jvp_y", "kind": "jvp", "of": ["y"], "wrt": ["x", "w"]}]
    assert found["gradients"] == {"y": "jvp_y"}
    assert found["cotangents"] == {"x": "tangent_x", "w": "tangent_w"}
    assert found["check"]["status"] == "proved"
    got = run(out, x=X, w=W, tangent_x=V, tangent_w=W)
    np.testing.assert_allclose(got["y"], X**2 * W, rtol=1e-6)
    np.testing.assert_allclose(got["jvp_y"], 2 * X * W * V + X**2 * W, rtol=1e-6)


def test_hvp_of_an_inner_value_and_its_operand():
    """The ops of the gradient of `h` by w have the name `h`, too."""
    text = """<ir_version: 10, opset_import: ["": 18]>
    m (float[2,3] x, float[3,4] w) => (float[2,4] y) {
        h = MatMul(x, w)
        y = Sin(h)
    }"""
    found = gradc.hvp(onnx.parser.parse_model(text), wrt=["w", "h"], reduce="sum")
    assert [one.shape for one in found.outputs] == [(3, 4), (2, 4)]
