"""`gradc.jvp` against finite differences in float64: control flow, sequences, dynamic sizes, half types,
quantization, weights and inner values, and the inputs that are left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import gradc
from tests.support.onnx_models import model_of, run

IF = """m (double[3] x, bool c) => (double[3] y) {
    two = Constant<value: tensor = double {2.0}>()
    y = If(c)<
        then_branch = a () => (double[3] p) {p = Mul(x, x)},
        else_branch = b () => (double[3] q) {s = Sin(x) q = Mul(s, two)}>
}"""
LOOP = """m (double[N,3] x, double[3,3] w, int64 steps) => (double[N,3] y) {
    go = Constant<value: tensor = bool {1}>()
    y = Loop(steps, go, x)<
        body = step (int64 i, bool on, double[N,3] h) => (bool keep, double[N,3] next) {
        keep = Identity(on)
        p = MatMul(h, w)
        next = Tanh(p)
    }>
}"""
SCAN = """m (double[T,3] x, double[3] h) => (double[3] last, double[T,3] all) {
    last, all = Scan<num_scan_inputs = 1,
        body = step (double[3] s, double[3] e) => (double[3] n, double[3] o) {
        p = Mul(s, e)
        n = Sin(p)
        o = Exp(n)
    }>(h, x)
}"""
SEQUENCE = """m (double[N,4] x) => (double[N,4] y) {
    parts = SplitToSequence<axis = 1, keepdims = 1>(x, two)
    zero = Constant<value: tensor = int64 {0}>()
    one = Constant<value: tensor = int64 {1}>()
    a = SequenceAt(parts, zero)
    b = SequenceAt(parts, one)
    p = Mul(a, b)
    more = SequenceInsert(parts, p)
    both = SequenceErase(more, zero)
    y = ConcatFromSequence<axis = 1>(both)
}""".replace("    parts =", "    two = Constant<value: tensor = int64 {2}>()\n    parts =")
CONV = """m (float[N,2,H,W] x, float[3,2,3,3] w) => (float[N,3,P,Q] y) {
    c = Conv<pads = [1, 1, 1, 1]>(x, w)
    r = Softplus(c)
    y = AveragePool<kernel_shape = [2, 2], strides = [2, 2]>(r)
}"""
NORM = """m (double[N,4] x, double[4] s, double[4] b) => (double[N,4] y) {
    n = LayerNormalization(x, s, b)
    y = Softmax(n)
}"""

RNG = np.random.default_rng(3)


def draw(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape)


CASES = {
    "if-then": (IF, {"x": draw(3), "c": np.array(True)}, ["x"]),
    "if-else": (IF, {"x": draw(3), "c": np.array(False)}, ["x"]),
    "loop": (LOOP, {"x": draw(2, 3), "w": draw(3, 3), "steps": np.array(4)}, ["x", "w"]),
    "loop-none": (LOOP, {"x": draw(2, 3), "w": draw(3, 3), "steps": np.array(0)}, ["x"]),
    "scan": (SCAN, {"x": draw(5, 3), "h": draw(3)}, ["x", "h"]),
    "sequence": (SEQUENCE, {"x": draw(2, 4)}, ["x"]),
    "conv": (CONV, {"x": np.float32(draw(2, 2, 6, 4)), "w": np.float32(draw(3, 2, 3, 3))}, ["x", "w"]),
    "norm": (NORM, {"x": draw(3, 4), "s": draw(4), "b": draw(4)}, ["x", "s"]),
}


def differences(
    model: onnx.ModelProto, fed: Mapping[str, Any], tangents: Mapping[str, np.ndarray], step: float
) -> list[np.ndarray]:
    ends = [
        run(
            model,
            {**fed, **{name: (fed[name] + sign * step * v).astype(v.dtype) for name, v in tangents.items()}},
        )
        for sign in (1, -1)
    ]
    return [(a - b) / (2 * step) for a, b in zip(*ends, strict=True)]


@pytest.mark.parametrize("name", CASES)
def test_against_differences(name: str):
    text, fed, wrt = CASES[name]
    model = model_of(text)
    tangents = {one: draw(*fed[one].shape).astype(fed[one].dtype) for one in wrt}
    exact = fed[wrt[0]].dtype == np.float64
    of = [one.name for one in model.graph.output]
    found = gradc.jvp(model, wrt=wrt, of=of, check=True)
    assert str(found.proof).startswith("proved: "), str(found.proof)
    own = [info.name for info in found.inputs]
    assert own == [*fed, *(f"tangent_{one}" for one in wrt)]
    got = found.run({**fed, **{f"tangent_{one}": v for one, v in tangents.items()}})
    assert list(got) == [f"jvp_{one}" for one in of]
    want = differences(model, fed, tangents, 1e-6 if exact else 1e-2)
    for a, b in zip(got.values(), want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7 if exact else 5e-3)


def test_no_backward_pass_is_left():
    """The product is that of the tangents: as many multiplications as the function has, twice."""
    model = model_of("m (float[N,8] x, float[8,8] a, float[8,2] b) => (float[N,2] y) {"
                     "h = MatMul(x, a) t = Tanh(h) y = MatMul(t, b)}")  # fmt: skip
    found = gradc.jvp(model, wrt="x", keep_outputs="of")
    kinds = [node.op_type for node in found.proto.graph.node]
    assert kinds.count("MatMul") == 4
    assert len(kinds) <= 8
    assert "Transpose" not in kinds


CLASSIFIER = """m (float[N,4] x) => (float[N,2] y) <float[4,2] w = {1, -1, 2, 0.5, 0, 3, -2, 1}> {
    h = MatMul(x, w)
    y = Sigmoid(h)
}"""


def test_weights_by_name():
    found = gradc.jvp(model_of(CLASSIFIER), wrt="w", weights="required")
    assert [one.name for one in found.inputs] == ["x", "w", "tangent_w"]
    x, v, w = np.float32(draw(3, 4)), np.float32(draw(4, 2)), found.weights["w"]
    s = 1 / (1 + np.exp(-x @ w))
    got = found.run({"x": x, "w": w, "tangent_w": v})["jvp_y"]
    np.testing.assert_allclose(got, s * (1 - s) * (x @ v), rtol=1e-5, atol=1e-6)


def test_inner_values():
    found = gradc.jvp(model_of(CLASSIFIER), wrt="h", of="y")
    assert [one.name for one in found.inputs] == ["x", "tangent_h"]
    x, v = np.float32(draw(3, 4)), np.float32(draw(3, 2))
    s = 1 / (1 + np.exp(-x @ np.float32([[1, -1], [2, 0.5], [0, 3], [-2, 1]])))
    got = found.run({"x": x, "tangent_h": v})["jvp_y"]
    np.testing.assert_allclose(got, s * (1 - s) * v, rtol=1e-5, atol=1e-6)


def test_elements():
    found = gradc.jvp(model_of(CLASSIFIER), wrt="x", of=["y[:,1]", "y[0,0]"])
    x, v = np.float32(draw(3, 4)), np.float32(draw(3, 4))
    whole = gradc.jvp(model_of(CLASSIFIER), wrt="x").run({"x": x, "tangent_x": v})["jvp_y"]
    got = found.run({"x": x, "tangent_x": v})
    np.testing.assert_allclose(got["jvp_y[:,1]"], whole[:, 1], rtol=1e-6)
    np.testing.assert_allclose(got["jvp_y[0,0]"], whole[0, 0], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_types(dtype: str):
    text = f"m ({dtype}[N,4] x, {dtype}[4,4] w) => ({dtype}[N,4] y) {{h = MatMul(x, w) y = Tanh(h)}}"
    found = gradc.jvp(model_of(text), wrt=["x", "w"])
    assert {one.dtype for one in (*found.inputs, *found.outputs)} == {
        {"float16": "f16", "bfloat16": "bf16"}[dtype]
    }
    assert str(found.proof).startswith("proved: "), str(found.proof)


QUANTIZED = """m (float[N,4] x) => (float[N,4] y)
    <float s = {0.1}, int8 z = {0}> {
    q = QuantizeLinear(x, s, z)
    d = DequantizeLinear(q, s, z)
    y = Mul(d, d)
}"""


def test_straight_through():
    x, v = np.float32([[0.31, -0.5, 100, 1]]), np.float32([[1, 2, 3, 4]])
    found = gradc.jvp(model_of(QUANTIZED), wrt="x", straight_through=True).run({"x": x, "tangent_x": v})
    np.testing.assert_allclose(found["jvp_y"], [[0.6, -2, 0, 8]], rtol=1e-5)


def test_unused_values():
    text = "m (float[N] x, float[N] z) => (float[N] y, float[N] u) {y = Exp(x) u = Abs(z)}"
    with pytest.raises(gradc.UsageError, match="z"):
        gradc.jvp(model_of(text), wrt=["x", "z"], of="y")
    found = gradc.jvp(model_of(text), wrt=["x", "z"], of="y", allow_unused=True)
    assert [one.name for one in found.inputs] == ["x", "z", "tangent_x"]
    assert found.cotangents == {"x": "tangent_x"}


def test_names():
    text = "m (float[N] x, float[N] tangent_x) => (float[N] y) {y = Mul(x, tangent_x)}"
    with pytest.raises(gradc.UsageError, match="tangent_x"):
        gradc.jvp(model_of(text), wrt="x")
    found = gradc.jvp(model_of(text), wrt="x", name_template="{what}.{name}", keep_outputs="of")
    assert [one.name for one in found.inputs] == ["x", "tangent_x", "tangent.x"]
    assert [one.name for one in found.outputs] == ["y", "jvp.y"]


def test_wrong_rules_are_found():
    def wrong(f: Any, g: Any, e: Any) -> list[Any]:
        return [g[0] * 2.0]

    with pytest.raises(gradc.CheckError):
        gradc.jvp(model_of("m (float[N] x) => (float[N] y) {y = Sin(x)}"), wrt="x", rules={"Sin": wrong})


@pytest.mark.sweep
@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin", "ReduceLogSum", "ReduceLogSumExp", "ReduceProd"])
@pytest.mark.parametrize("sizes", ["A,B", "2,0"], ids=["dynamic", "static"])
@pytest.mark.parametrize("strict_ieee", [False, True])
def test_reductions_of_no_elements(op: str, sizes: str, strict_ieee: bool):
    """No tangent moves the result of no elements, which may be infinite; its derivative is 0.

    The product is left out before onnxruntime 1.32, whose sums of no elements of a dynamic size have a wrong
    shape.
    """
    if op == "ReduceProd" and tuple(map(int, onnxruntime.__version__.split(".")[:2])) < (1, 32):
        pytest.skip("sums of no elements")
    text = f"""<ir_version: 8, opset_import: ["": 20]>
    f (float[{sizes}] x) => (float[{sizes[0]}] y) <int64[1] last = {{1}}> {{
        y = {op} <keepdims = 0> (x, last)
    }}"""
    product = gradc.jvp(onnx.parser.parse_model(text), wrt="x", strict_ieee=strict_ieee)
    x = np.zeros((2, 0), np.float32)
    assert (product.run({"x": x, "tangent_x": x})["jvp_y"] == 0).all()
    if sizes == "A,B":
        x = np.array([[1, 2, 2], [3, 0.5, 1]], np.float32)
        step = np.array([[1, 2, 4], [8, 16, 32]], np.float32)
        expected = {"ReduceMax": [3, 8], "ReduceMin": [1, 16], "ReduceLogSum": [7 / 5, 56 / 4.5]}
        found = product.run({"x": x, "tangent_x": step})["jvp_y"]
        if op in expected:
            np.testing.assert_allclose(found, expected[op], rtol=1e-5)


WINDOWS = "kernel_shape = [3, 3], strides = [2, 2]"


@pytest.mark.parametrize(
    ("attributes", "pools"),
    [(WINDOWS, 1), (f"{WINDOWS}, pads = [1, 1, 1, 1]", 1), (f"{WINDOWS}, ceil_mode = 1", 2)],
    ids=["no pads", "pads", "ceil mode"],
)
def test_a_maximum_over_windows_is_a_gather(attributes: str, pools: int):
    """The indices that MaxPool returns do not depend on its pads, so nothing is padded."""
    text = f"""<ir_version: 8, opset_import: ["": 18]>
    f (float[2,3,8,8] x) => (float[2,3,a,b] y) {{ y = MaxPool <{attributes}> (x) }}"""
    product = gradc.jvp(onnx.parser.parse_model(text), wrt="x", keep_outputs="of", check=True)
    ops = [node.op_type for node in product.model.graph.node if node.op_type != "Constant"]
    assert sorted(ops) == ["Gather", *["MaxPool"] * pools, "Reshape"]
    rng = np.random.default_rng(0)
    x = rng.permutation(384).reshape(2, 3, 8, 8).astype(np.float32)
    step = rng.integers(-9, 9, size=x.shape).astype(np.float32)
    found, moved = (product.run({"x": x + f * step, "tangent_x": step}) for f in (0, np.float32(2**-6)))
    np.testing.assert_array_equal(found["jvp_y"], (moved["y"] - found["y"]) * 2**6)
