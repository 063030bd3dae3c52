"""`--wrt` and `--of`: commands that take the gradient of a graph as they take a graph."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import onnx
import pytest
from support.cli import run_gradc

import gradc

TEXT = """<ir_version: 8, opset_import: ["": 17]>
g (float[N, 3, 8, 8] x) => (float[N, 4, 6, 6] y, float[N, 4, 6, 6] z)
<float[4, 3, 3, 3] w>
{
    c = Conv (x, w)
    y = Relu (c)
    z = Exp (y)
}"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    found = onnx.parser.parse_model(TEXT)
    found.graph.initializer.append(onnx.helper.make_tensor("w", 1, (4, 3, 3, 3), [0.1] * 108))
    onnx.save(found, tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def test_verify(model: Path):
    found = run_gradc(
        "verify", model, "--wrt", "x", "--wrt", "w", "--of", "y", "--shape", "x=2x3x8x8", "--json"
    )
    assert found.code == 0, found.err
    assert '"grad_x"' in found.out
    assert '"grad_w"' in found.out
    assert '"z"' not in found.out


def test_verify_takes_the_model_itself_without(model: Path):
    found = run_gradc("verify", model, "--shape", "x=2x3x8x8", "--json")
    assert found.code == 0, found.err
    assert '"z"' in found.out


def test_explain(model: Path):
    assert not json.loads(run_gradc("explain", model, "--json").out)["gradients"]
    found = json.loads(run_gradc("explain", model, "--wrt", "x", "--of", "y", "--json").out)
    assert any("conv_backward_data" in one["problem"] for one in found["gradients"])


def test_report(model: Path, tmp_path: Path):
    page = tmp_path / "r.html"
    found = run_gradc("report", model, "--wrt", "x", "--of", "y", "-o", page)
    assert found.code == 0, found.err
    assert "grad_x" in page.read_text()


def test_reduce(model: Path, tmp_path: Path):
    """To the op that is interesting, of which the model itself has none."""
    script = tmp_path / "interesting.py"
    script.write_text("import sys; sys.exit('conv_backward_data' not in open(sys.argv[1]).read())")
    out = tmp_path / "small.mlir"
    command = f"{sys.executable} {script} {{}}"
    found = run_gradc("reduce", model, "--wrt", "x", "--of", "z", "--interesting", command, "-o", out)
    assert found.code == 0, found.err
    assert "conv_backward_data" in out.read_text()
    assert "onnx.Exp" not in out.read_text()


def test_what_cannot_be_differentiated_is_refused(model: Path):
    found = run_gradc("explain", model, "--wrt", "nobody", "--of", "y")
    assert found.code == 2
    assert "there is no value nobody" in found.err


def test_straight_through_is_of_a_gradient(model: Path):
    found = run_gradc("verify", model, "--straight-through")
    assert found.code == 2
    assert "--straight-through needs --wrt or --of" in found.err


def test_constants_that_the_first_gradient_named():
    """The second gradient may give such a name to another constant of its own."""
    text = """<ir_version: 8, opset_import: ["": 18]> g (float[N, 4] x) => (float[N, 2] y)
    <float[4, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}, float[3, 2] v = {1, -2, 3, -1, 2, 4}>
    { p = MatMul (x, w) h = Tanh (p) y = MatMul (h, v) }"""
    first = gradc.vjp(onnx.parser.parse_model(text), wrt="x")
    second = gradc.vjp(first.model, wrt="x", of="grad_x", allow_unused=True)
    assert second.proof.status == "proved"
