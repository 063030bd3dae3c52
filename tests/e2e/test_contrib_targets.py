"""Models with ops of onnxruntime's own domains, compiled for targets that lack these ops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper, parser
from support.cli import run_gradc

import gradc

RNG = np.random.default_rng(0)
OPTIMISED = """<ir_version: 9, opset_import: ["" : 17, "com.microsoft" : 1]>
g (float[1,3,5,5] x) => (float[1,4,10] y) {
    c = com.microsoft.FusedConv<activation = "Relu", kernel_shape = [3,3], pads = [1,1,1,1]>(x, w, b)
    p = MaxPool<kernel_shape = [3,3], strides = [3,3]>(c)
    r = Reshape(p, flat)
    a = com.microsoft.Gelu(r)
    m = MatMul(a, v)
    y = com.microsoft.QuickGelu<alpha = 1.5>(m)
}"""
BLOCKED = """<ir_version: 9, opset_import: ["" : 17, "com.microsoft.nchwc" : 1]>
g (float[1,16,4,4] x) => (float[1,16,2,2] y) {
    i = com.microsoft.nchwc.ReorderInput(x)
    p = com.microsoft.nchwc.MaxPool<kernel_shape = [2,2], strides = [2,2]>(i)
    y = com.microsoft.nchwc.ReorderOutput<channels = 16>(p)
}"""
UNKNOWN = """<ir_version: 9, opset_import: ["" : 17, "com.microsoft" : 1]>
g (float[2,3] x) => (float[2,3] y) { a = com.microsoft.Whatever(x) y = Relu(a) }"""


def optimised() -> onnx.ModelProto:
    model = parser.parse_model(OPTIMISED)
    sizes = {"w": (4, 3, 3, 3), "b": (4,), "v": (1, 10)}
    arrays: dict[str, Any] = {n: RNG.normal(size=s).astype(np.float32) for n, s in sizes.items()}
    arrays["flat"] = np.array([1, 4, 1])
    model.graph.initializer.extend(numpy_helper.from_array(a, n) for n, a in arrays.items())
    return model


def domains(model: onnx.ModelProto) -> set[str]:
    return {node.domain for node in model.graph.node}


def test_a_portable_model_has_standard_ops_only(tmp_path: Path):
    model = optimised()
    onnx.save(model, tmp_path / "m.onnx")
    compiled = gradc.compile(model, target="portable")
    assert domains(compiled.model) == {""}
    assert not compiled.remarks
    x = RNG.normal(size=(1, 3, 5, 5)).astype(np.float32)
    (expected,) = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(None, {"x": x})
    np.testing.assert_allclose(compiled.run({"x": x})["y"], expected, rtol=1e-5, atol=1e-5)
    assert (
        run_gradc("compile", tmp_path / "m.onnx", "--target", "portable", "-o", tmp_path / "o.onnx").code == 0
    )
    assert domains(onnx.load(tmp_path / "o.onnx")) == {""}
    assert run_gradc("verify", tmp_path / "m.onnx", "--target", "portable").code == 0
    found = run_gradc("inspect", tmp_path / "m.onnx", "--target", "portable").out
    assert "supported: yes" in found
    assert "it is no op of the standard domain" not in found
    assert "com.microsoft.QuickGelu" in found, "an op of the source"


@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_ops_that_the_target_may_have_stay(target: str):
    assert domains(gradc.compile(optimised(), target=target).model) == {"", "com.microsoft"}


@pytest.mark.parametrize("target", ["cpu", "cuda", "portable"])
def test_blocks_of_channels_are_for_the_cpu_alone(target: str):
    model = parser.parse_model(BLOCKED)
    is_kept = "com.microsoft.nchwc" in domains(gradc.compile(model, target=target).model)
    assert is_kept == (target == "cpu")


def test_an_op_without_decomposition_is_reported(tmp_path: Path):
    model = parser.parse_model(UNKNOWN)
    onnx.save(model, tmp_path / "m.onnx")
    portable, cpu = (gradc.compile(model, target=target).remarks for target in ("portable", "cpu"))
    assert all("com.microsoft.Whatever" in remark.message for remark in (*portable, *cpu))
    assert len(portable) == len(cpu) + 1
    found = run_gradc("inspect", tmp_path / "m.onnx", "--target", "portable")
    assert "supported: no, com.microsoft.Whatever" in found.out
    assert found.code == 0
