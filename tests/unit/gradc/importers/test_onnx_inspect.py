"""What `gradc inspect` says of a model: counts, weights, arithmetic, and what a target does not have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import onnx
import pytest
from support.cli import run_gradc
from support.onnx_models import model_of

NET = """g (float[N,3,8,8] x) => (float[N,5] y)
<float[4,3,3,3] w, float[6,5] m, int64[2] s = {-1, 64}> {
    c = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(x, w)
    r = Relu(c)
    p = AveragePool<kernel_shape = [2, 2]>(r)
    f = Flatten(p)
    h = Slice(f, zero, six, one)
    zero = Constant<value_ints = [0]>()
    six = Constant<value_ints = [6]>()
    one = Constant<value_ints = [1]>()
    y = MatMul(h, m)
}"""


def inspected(model: onnx.ModelProto, path: Path, *args: str) -> Any:
    onnx.save(model, path / "m.onnx")
    result = run_gradc("inspect", str(path / "m.onnx"), "--json", *args)
    assert result.code == 0, result.err
    return json.loads(result.out)


def net() -> onnx.ModelProto:
    model = model_of(NET.replace("float[4,3,3,3] w, float[6,5] m, ", ""), opset=17)
    shapes = {"w": (4, 3, 3, 3), "m": (6, 5)}
    for name, shape in shapes.items():
        count = shape[0] * shape[1] * (shape[2] * shape[3] if len(shape) > 2 else 1)
        values = [float(i) for i in range(count)]
        model.graph.initializer.append(onnx.helper.make_tensor(name, 1, shape, values))
    return model


def test_contents(tmp_path: Path):
    found = inspected(net(), tmp_path)["contents"]
    assert found["opsets"] == {"ai.onnx": 17}
    assert found["dims"] == ["N"]
    weights = found["weights"]
    assert weights["parameters"] == 108 + 30
    assert weights["by_dtype"]["f32"] == 4 * 138
    kinds = found["kinds"]
    assert {kind: each["count"] for kind, each in kinds.items()} == dict.fromkeys(kinds, 1)
    conv, product = 4 * 4 * 4 * 27, 6 * 5
    assert kinds["Conv"] == {"count": 1, "compiled": 1, "macs": f"{conv}*N", "flops": f"{2 * conv}*N"}
    assert kinds["MatMul"]["macs"] == f"{product}*N"
    assert kinds["Relu"]["flops"] == "64*N"
    assert kinds["AveragePool"]["flops"] == f"{4 * 3 * 3 * 4}*N"
    assert found["macs"] == f"{conv + product}*N"
    assert found["flops"] == f"{2 * (conv + product) + 64 + 144}*N"
    assert not found["uncounted"]
    assert found["memory"] == 2 * 4 * 64, "the result of Conv, and that of Relu"


MEMORY = {
    """g (float[10] x) => (float[10] y) {
        a = Neg(x)
        b = Exp(a)
        c = Mul(a, b)
        y = Abs(c)
    }""": 3 * 40,
    """g (float[2,5] x) => (float[1,10] y) {
        a = Neg(x)
        b = Flatten<axis = 0>(a)
        c = Flatten(x)
        d = ReduceSum<keepdims = 0>(c)
        e = Add(b, d)
        y = Neg(e)
    }""": 40 + 4 + 40,
    """g (float[10] x, bool c) => (float[10] y) {
        a = Exp(x)
        y = If (c) <
            then_branch = t () => (float[10] z) { p = Neg(a) q = Exp(p) z = Mul(p, q) },
            else_branch = e () => (float[10] w) { w = Identity(a) }
        >
    }""": 2 * 40 + 3 * 40,
    """g (float[N,M] x) => (float[N,M] y) { y = Exp(x) }""": 4,
    "g (float[N] x, bool[N] c) => (float[K] y) { y = Compress(x, c) }": None,
}


@pytest.mark.parametrize("text", MEMORY)
def test_memory_of_values_at_once(text: str, tmp_path: Path):
    assert inspected(model_of(text, opset=18), tmp_path)["contents"]["memory"] == MEMORY[text]


PRODUCTS = {
    """g (float[2,8,5] x, float[8,3,4] w) => (float[2,6,12] y) {
        y = ConvTranspose<group = 2, strides = [2]>(x, w)
    }""": 2 * 8 * 5 * 3 * 4,
    "g (float[5,2] x, float[7,5] w) => (float[2,7] y) { y = Gemm<transA = 1, transB = 1>(x, w) }": 2 * 7 * 5,
    """g (float[2,3,4] x, float[2,4,5] w) => (float[2,3,5] y) {
        y = Einsum<equation = "bij,bjk->bik">(x, w)
    }""": 2 * 3 * 4 * 5,
    """g (float[3,2,4] x, float[1,20,4] w, float[1,20,5] r) => (float[3,1,2,5] y) {
        y = LSTM<hidden_size = 5>(x, w, r)
    }""": 3 * 2 * 20 * (4 + 5),
    "g (uint8[2,3] x, uint8[3,4] w) => (int32[2,4] y) { y = MatMulInteger(x, w) }": 24,
}


@pytest.mark.parametrize("text", PRODUCTS)
def test_products(text: str, tmp_path: Path):
    found = inspected(model_of(text, opset=17), tmp_path)["contents"]
    assert found["macs"] == PRODUCTS[text]
    assert found["flops"] == 2 * PRODUCTS[text]


def test_a_target(tmp_path: Path):
    """All that is missing at once: what is written otherwise, what is refused, what nobody knows."""
    model = model_of(
        """g (double[2,8] x, float[2,3] z) => (double[2,8] y, float[2,3] u, float[2,3] v) {
            y = Mish(x)
            u = com.example.Ramp(z)
            v = com.example.Ramp(z)
        }""",
        opset=18,
        **{"com.example": 1},
    )
    found = inspected(model, tmp_path, "--target", "cuda")
    assert found["target"] == "cuda"
    lacks = found["lacks"]
    foreign = [each for each in lacks if each["op"] == "com.example.Ramp"]
    assert len(foreign) == 2
    assert all(each["handled"] and "does not know" in each["reason"] for each in foreign)
    text = run_gradc("inspect", str(tmp_path / "m.onnx"), "--target", "cuda").out
    assert "com.example.Ramp" in text


def test_what_another_target_has(tmp_path: Path):
    """The remedy is a target that has it, where no opset has; compiling refuses the same node."""
    model = model_of("g (float[2,2] x) => (float[] y) { y = Det(x) }", opset=18)
    (lack,) = inspected(model, tmp_path, "--target", "cuda")["lacks"]
    assert not lack["handled"]
    assert lack["op"] == "Det"
    assert "no kernel" in lack["reason"] or "has no" in lack["reason"]
    assert lack["remedy"] == "--target cpu has one"
    assert (
        run_gradc("compile", str(tmp_path / "m.onnx"), "--target", "cuda", "-o", tmp_path / "o.onnx").code
        == 3
    )
    assert inspected(model, tmp_path, "--target", "cpu")["lacks"] == []


def test_an_op_of_operands_without_types(tmp_path: Path):
    """A standard op after one of another domain has its own name, and the reason why support is unknown."""
    model = model_of(
        "g (float[2] x) => (float[2] y) { a = com.example.Foo(x) y = Tanh(a) }",
        opset=18,
        **{"com.example": 1},
    )
    found = inspected(model, tmp_path, "--target", "tract")["lacks"]
    assert [each["op"] for each in found] == ["com.example.Foo", "Tanh"]
    assert "its operands have unknown types" in found[1]["reason"]
    assert run_gradc("inspect", str(tmp_path / "m.onnx")).out.count("weights 0, 0 bytes") == 1


def test_no_target_no_list(tmp_path: Path):
    found = inspected(net(), tmp_path)
    assert "lacks" not in found
    assert "MACs" in run_gradc("inspect", str(tmp_path / "m.onnx")).out
