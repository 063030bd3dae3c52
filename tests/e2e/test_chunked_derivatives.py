"""`chunk_size` of `jacobian` and `hessian`: rows in chunks, against all rows in one run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import gradc
from gradc.verification.gradient_spec import CheckError
from passes.builder.values import Builder, Value
from passes.vectorize.chunks import Chunks
from tests.support.cli import run_gradc

HEAD = '<ir_version: 10, opset_import: ["": 18]> '
DYNAMIC = (
    HEAD
    + """f (float[N,4] x, float[4,3] w) => (float[N,3] y, float[3] z) <int64[1] first = {0}> {
    h = MatMul(x, w)
    y = Tanh(h)
    z = ReduceSum <keepdims = 0> (y, first)
}"""
)
STATIC = DYNAMIC.replace("N,", "2,")
CONV = (
    HEAD
    + """f (float[1,2,5,5] x, float[3,2,3,3] k) => (float[1,3,3,3] y) {
    c = Conv (x, k)
    y = Sigmoid (c)
}"""
)
LINEAR = HEAD + "f (float[3] x) => (float[3] y) { y = Neg(x) }"


def model(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(text)


def inputs_of(compiled: gradc.Compiled, n: int = 2) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    shapes = {one.name: [d if isinstance(d, int) else n for d in one.shape or ()] for one in compiled.inputs}
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def scans_of(compiled: gradc.Compiled) -> list[onnx.NodeProto]:
    return [node for node in compiled.model.graph.node if node.op_type == "Scan"]


def assert_equal_runs(found: gradc.Compiled, whole: gradc.Compiled, n: int = 2) -> None:
    assert found.outputs == whole.outputs
    inputs = inputs_of(whole, n)
    expected, results = whole.run(inputs), found.run(inputs)
    for name, array in expected.items():
        assert results[name].shape == array.shape
        np.testing.assert_allclose(results[name], array, rtol=1e-4, atol=1e-5)


@pytest.mark.sweep
@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize("text", [STATIC, CONV, DYNAMIC], ids=["static", "convolution", "dynamic"])
def test_jacobians(text: str, size: int, mode: str):
    options: dict[str, Any] = {"of": "y", "mode": mode, "keep_outputs": "of"}
    found = gradc.jacobian(model(text), chunk_size=size, **options)
    assert found.proof is not None
    assert found.proof.status == "proved"
    whole = gradc.jacobian(model(text), check=False, **options)
    assert scans_of(found)
    assert not scans_of(whole)
    assert_equal_runs(found, whole)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_dynamic_numbers_of_rows(n: int):
    options: dict[str, Any] = {"of": ["y", "z"], "wrt": "x", "mode": "reverse", "check": False}
    found = gradc.jacobian(model(DYNAMIC), chunk_size=4, **options)
    assert_equal_runs(found, gradc.jacobian(model(DYNAMIC), **options), n)


def test_a_step_computes_one_chunk():
    found = gradc.jacobian(model(CONV), mode="reverse", chunk_size=5)
    (scan,) = scans_of(found)
    (body,) = [attribute.g for attribute in scan.attribute if attribute.name == "body"]
    first = {value.type.tensor_type.shape.dim[0].dim_value for value in body.output}
    assert first == {5}
    read = {name for node in body.node for name in node.input}
    assert not any(node.op_type == "Sigmoid" for node in body.node)
    assert read & {name for node in found.model.graph.node for name in node.output}


def test_a_chunk_of_all_rows_is_no_loop():
    assert not scans_of(gradc.jacobian(model(CONV), mode="reverse", chunk_size=27, check=False))


def test_rows_that_depend_on_nothing():
    found = gradc.jacobian(model(LINEAR), chunk_size=2)
    assert (found.run({"x": np.zeros(3, np.float32)})["jacobian_y_x"] == -np.eye(3)).all()


@pytest.mark.sweep
@pytest.mark.parametrize("size", [1, 5, 24])
@pytest.mark.parametrize("of", ["y", "z[1]"])
@pytest.mark.parametrize("diagonal", [False, True])
def test_hessians(of: str, size: int, diagonal: bool):
    options: dict[str, Any] = {"of": of, "wrt": "x", "diagonal": diagonal, "trace": diagonal}
    found = gradc.hessian(model(STATIC), chunk_size=size, check=True, **options)
    assert_equal_runs(found, gradc.hessian(model(STATIC), check=False, **options))


def test_per_sample_jacobians():
    options: dict[str, Any] = {"of": "y", "per_sample": True, "check": False}
    found = gradc.jacobian(model(DYNAMIC), chunk_size=2, **options)
    assert_equal_runs(found, gradc.jacobian(model(DYNAMIC), **options), 3)


def test_a_wrong_row_is_found(monkeypatch: pytest.MonkeyPatch):
    def shifted(self: Chunks, e: Builder) -> Value:
        return numbers(self, e) * 2

    numbers = Chunks.numbers
    monkeypatch.setattr(Chunks, "numbers", shifted)
    with pytest.raises(CheckError):
        gradc.jacobian(model(STATIC), of="y", mode="reverse", chunk_size=4)


@pytest.mark.parametrize("size", [0, -1, True, "4"])
def test_wrong_sizes(size: Any):
    for derivative in (gradc.jacobian, gradc.hessian):
        with pytest.raises(gradc.UsageError, match=r"chunk_size.*a number of rows >= 1"):
            derivative(model(STATIC), chunk_size=size)


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("target", "opset"), [("cpu", 13), ("openvino", 18), ("portable", 18), ("tract", 18)]
)
def test_targets(target: str, opset: int):
    text = DYNAMIC.replace(": 18", f": {opset}")
    for derivative in (gradc.jacobian, gradc.hessian):
        derivative(model(text), of="y", wrt="x", chunk_size=2, target=target, opset=opset, check=False)


def test_the_commands(tmp_path: Path):
    source = tmp_path / "f.onnx"
    onnx.save(model(STATIC), source)
    for command in ("jacobian", "hessian"):
        out = tmp_path / f"{command}.onnx"
        run = run_gradc(command, source, "--of", "y", "--wrt", "x", "--chunk-size", "3", "-o", out)
        assert run.code == 0
        assert any(node.op_type == "Scan" for node in onnx.load(out).graph.node)
