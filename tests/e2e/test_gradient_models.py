"""`gradc.grad` and its kin, and `gradc grad`: what a user gives, gets, and is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.cli import run_gradc

import gradc

RNG = np.random.default_rng(0)
W = RNG.normal(size=(4, 3)).astype(np.float32)
X = RNG.normal(size=(2, 4)).astype(np.float32)


def model(*extra: onnx.NodeProto, outputs: tuple[str, ...] = ("logits",)) -> onnx.ModelProto:
    """logits = tanh(x W)^2, with the names that exporters write."""
    nodes = [
        helper.make_node("MatMul", ["x", "/fc/w.weight"], ["/fc/MatMul_output_0"]),
        helper.make_node("Tanh", ["/fc/MatMul_output_0"], ["457"]),
        helper.make_node("Mul", ["457", "457"], ["logits"]),
        *extra,
    ]
    edge = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 3]) for name in outputs]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])],
        edge,
        [numpy_helper.from_array(W, "/fc/w.weight")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def by_hand(cotangent: np.ndarray) -> dict[str, np.ndarray]:
    tanh = np.tanh(X @ W)
    inner = cotangent * 2 * tanh * (1 - tanh**2)
    return {"x": inner @ W.T, "/fc/w.weight": X.T @ inner, "/fc/MatMul_output_0": inner}


def check(got: np.ndarray, want: np.ndarray) -> None:
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


def test_by_inputs_weights_and_values_within():
    found = gradc.grad(model(), reduce="sum", wrt=["x", "*.weight", "/fc/MatMul_output_0"])
    want = by_hand(np.ones((2, 3)))
    assert found.gradients == {name: f"grad_{name}" for name in want}
    got = found.run({"x": X})
    for name, gradient in want.items():
        check(got[f"grad_{name}"], gradient)


def test_a_value_within_is_read_where_it_was_written():
    """Two Transposes that cancel: the second reads what the first makes, also for its gradient."""
    extra = [
        helper.make_node("Transpose", ["logits"], ["turned"]),
        helper.make_node("Transpose", ["turned"], ["back"]),
    ]
    found = gradc.grad(model(*extra, outputs=("back",)), reduce="sum", wrt="turned")
    check(found.run({"x": X})["grad_turned"], np.ones((3, 2)))


def test_a_value_within_whose_rank_follows_from_constants():
    """As exporters split axes: by places that are computed."""
    text = """<ir_version: 8, opset_import: ["": 17]> g (float[n,6] x) => (float y)
        <int64[1] four = {4}, int64[1] three = {3}, int64[1] zero = {0}, int64[2] split = {2,3}>
        { s = Shape(x) end = Mod(four, three) head = Slice(s, zero, end) to = Concat<axis=0>(head, split)
          t = Reshape(x, to) u = Mul(t, t) y = ReduceSum<keepdims=0>(u) }"""
    model = onnx.parser.parse_model(text)
    x = RNG.normal(size=(2, 6)).astype(np.float32)
    found = gradc.grad(model, wrt=["t", "u"]).run({"x": x})
    check(found["grad_u"], np.ones((2, 2, 3)))
    check(found["grad_t"], 2 * x.reshape(2, 2, 3))


@pytest.mark.sweep(parts=6)
@pytest.mark.parametrize(
    ("form", "attributes"),
    [
        ("r, r, sizes", 'mode = "linear", antialias = 1'),
        ("r, scales", 'mode = "cubic", antialias = 1, exclude_outside = 1'),
        ("r, scales", 'mode = "cubic", coordinate_transformation_mode = "asymmetric"'),
        ("r, scales", 'mode = "linear", coordinate_transformation_mode = "half_pixel_symmetric"'),
        ("r, s", 'mode = "linear"'),
        ("r, s", 'mode = "nearest", nearest_mode = "ceil"'),
    ],
)
@pytest.mark.parametrize("dims", ["1,2,6,8", "a,2,b,c"])
def test_a_resize_is_transposed(form: str, attributes: str, dims: str):
    """It is linear, so <g, R v> = <R^T g, v>; scales of `s` are known at run time only."""
    text = f"""<ir_version: 8, opset_import: ["": 18]> g (float[{dims}] x, float[4] s) => (float[p,q,m,n] y)
        <float[0] r = {{}}, float[4] scales = {{1,1,0.5,0.75}}, int64[4] sizes = {{1,2,3,6}}>
        {{ y = Resize<{attributes}>(x, {form}) }}"""
    source = onnx.parser.parse_model(text)
    x, v = RNG.normal(size=(2, 1, 2, 6, 8)).astype(np.float32)
    s = np.array([1, 1, 0.5, 1.25], np.float32)
    forward = gradc.compile(source)
    y = forward.run({"x": v, "s": s})["y"]
    g = RNG.normal(size=y.shape).astype(np.float32)
    found = gradc.vjp(source, wrt="x").run({"x": x, "s": s, "cotangent_y": g})["grad_x"]
    assert found.shape == x.shape
    np.testing.assert_allclose((found * v).sum(), (g * y).sum(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("op", ["Conv", "ConvTranspose"])
def test_weights_say_the_channels_of_what_has_none(op: str, groups: int):
    """The result is linear in the weights, so <g, f(v)> = <grad, v>."""
    text = f"""<ir_version: 8, opset_import: ["": 17]>
        g (float[n,c,h,w] x, float[4,2,3,2] k) => (float[p,q,r,s] y)
        {{ y = {op}<group = {groups}, strides = [2,1], pads = [1,0,1,1]>(x, k) }}"""
    source = onnx.parser.parse_model(text)
    channels = 4 if op == "ConvTranspose" else 2 * groups
    x = RNG.normal(size=(2, channels, 5, 4)).astype(np.float32)
    k, v = RNG.normal(size=(2, 4, 2, 3, 2)).astype(np.float32)
    y = gradc.compile(source).run({"x": x, "k": v})["y"]
    g = RNG.normal(size=y.shape).astype(np.float32)
    found = gradc.vjp(source, wrt="k").run({"x": x, "k": k, "cotangent_y": g})["grad_k"]
    np.testing.assert_allclose((found * v).sum(), (g * y).sum(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("of", ["logits[1,2]", "logits[-1,-1]"])
def test_of_one_element(of: str):
    cotangent = np.zeros((2, 3))
    cotangent[1, 2] = 1
    check(gradc.grad(model(), of=of).run({"x": X})["grad_x"], by_hand(cotangent)["x"])


def test_of_a_column():
    found = gradc.vjp(model(), of="logits[:,1]")
    cotangent = np.zeros((2, 3))
    cotangent[:, 1] = [2, -1]
    assert found.cotangents == {"logits[:,1]": "cotangent_logits[:,1]"}
    got = found.run({"x": X, "cotangent_logits[:,1]": np.array([2, -1], np.float32)})
    check(got["grad_x"], by_hand(cotangent)["x"])


def test_values_and_gradients():
    found = gradc.value_and_grad(model(), reduce="mean")
    value, gradient = (found.run({"x": X})[info.name] for info in found.outputs)
    assert [info.name for info in found.outputs] == ["logits", "grad_x"]
    check(value, np.tanh(X @ W) ** 2)
    check(gradient, by_hand(np.full((2, 3), 1 / 6))["x"])


def test_the_second_derivative_times_a_vector():
    found = gradc.hvp(model(), reduce="sum")
    tangent = RNG.normal(size=X.shape).astype(np.float32)
    got = found.run({"x": X, "tangent_x": tangent})["hvp_x"]
    tanh = np.tanh(X @ W)
    second = (1 - tanh**2) * (2 - 6 * tanh**2)
    check(got, (second * (tangent @ W)) @ W.T)


def test_all_that_has_no_derivative_is_told(tmp_path: Path):
    extra = [helper.make_node("Det", ["logits"], ["d1"]), helper.make_node("Mul", ["logits", "d1"], ["y"])]
    with pytest.raises(gradc.UnsupportedError, match="no derivative: size of the matrices"):
        gradc.grad(model(*extra, outputs=("y",)), reduce="sum")


def test_on_the_command_line(tmp_path: Path):
    source, output = tmp_path / "model.onnx", tmp_path / "gradient.onnx"
    onnx.save(model(), source)
    done = run_gradc("grad", str(source), "--reduce", "sum", "--keep-outputs", "of", "-o", str(output))
    assert done.code == 0, done.err
    names = [info.name for info in onnx.load(output).graph.output]
    assert names == ["logits", "grad_x"]
    output.unlink()
    done = run_gradc("grad", str(source), "-o", str(output))
    assert done.code == 2
    assert "expected one element" in done.err
    assert not output.exists()


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("a = foo.Bar(x)", "foo.Bar has neither a rule nor a decomposition"),
        (
            "a = com.microsoft.nchwc.Conv(x)",
            "operands of com.microsoft.nchwc.Conv: given 1, expected",
        ),
        ("b = foo.Bar(x) a = Relu(b)", "Relu: an operand has an unknown type; add a value_info"),
    ],
)
def test_one_way_that_is_refused_is_not_left_out_of_the_sum(body: str, why: str):
    opsets = '<ir_version: 8, opset_import: ["": 18, "foo": 1, "com.microsoft.nchwc": 1]>'
    model = onnx.parser.parse_model(f"{opsets} g (float[2] x) => (float[2] y) {{ {body} y = Add(a, x) }}")
    with pytest.raises(gradc.GradcError, match=why):
        gradc.vjp(model)


def test_a_normalisation_in_training():
    text = "g (float[6,2] x, float[2] s, float[2] b, float[2] m, float[2] v) => (float[6,2] y)"
    opsets = '<ir_version: 8, opset_import: ["": 15]>'
    model = onnx.parser.parse_model(
        f"{opsets} {text} {{ y, n, w = BatchNormalization<training_mode = 1, epsilon = 0.0>(x, s, b, m, v) }}"
    )
    rng = np.random.default_rng(0)
    x, g = rng.normal(size=(2, 6, 2)).astype(np.float32)
    s, b = np.array([1.5, -2], np.float32), np.array([0.5, 1], np.float32)
    found = gradc.value_and_grad(model, wrt="x", cotangents=True).run(
        {"x": x, "s": s, "b": b, "m": b * 0, "v": b * 0 + 1, "cotangent_y": g}
    )
    n = (x - x.mean(0)) / x.std(0)
    want = s / x.std(0) * (g - g.mean(0) - n * (g * n).mean(0))
    np.testing.assert_allclose(found["y"], n * s + b, atol=1e-5)
    np.testing.assert_allclose(found["grad_x"], want, atol=1e-5)
