"""Derivatives per sample, `per_sample=True`, against runs with one sample each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest

import gradc
from dialects.onnx.ops import ReduceMeanOp
from gradc.verification.gradient_spec import CheckError
from passes.builder.values import Value
from passes.vectorize import vectorize
from passes.vectorize.batch import Batch, OpCall
from tests.support.cli import run_gradc

Arrays = Mapping[str, np.ndarray]

MLP = """mlp (float[N,4] x) => (float[N,3] y)
<float[4,5] w1, float[5] b1, float[5,3] w2> {
    a = MatMul(x, w1)
    h = Add(a, b1)
    r = Tanh(h)
    y = MatMul(r, w2)
}"""
CNN = """cnn (float[N,2,6,6] x) => (float[N,4] y)
<float[3,2,3,3] k, float[3] kb, float[12,4] w, float[3] scale, float[3] bias, float[3] mean, float[3] var> {
    c = Conv <pads = [1,1,1,1]> (x, k, kb)
    n = BatchNormalization (c, scale, bias, mean, var)
    r = Relu (n)
    p = AveragePool <kernel_shape = [3,3], strides = [3,3]> (r)
    f = Flatten (p)
    y = MatMul (f, w)
}"""
LSTM = """lstm (float[5,N,3] x) => (float[1,N,4] y)
<float[1,16,3] w, float[1,16,4] r> {
    all, y, c = LSTM <hidden_size = 4> (x, w, r)
}"""
BATCH_FIRST_LSTM = """lstm (float[N,5,3] x) => (float[N,4] y, float[1,N,4] h)
<float[1,16,3] w, float[1,16,4] r, int64[1] first = {0}> {
    steps = Transpose <perm = [1,0,2]> (x)
    all, h, c = LSTM <hidden_size = 4> (steps, w, r)
    y = Squeeze (h, first)
}"""
ATTENTION = """attention (float[N,5,4] x) => (float[N,5,4] y)
<float[4,4] q, float[4,4] k, float[4,4] v, float[4] g, float[4] b> {
    n = LayerNormalization <axis = -1> (x, g, b)
    xq = MatMul (n, q)
    xk = MatMul (n, k)
    xv = MatMul (n, v)
    t = Transpose <perm = [0,2,1]> (xk)
    s = MatMul (xq, t)
    p = Softmax <axis = -1> (s)
    o = MatMul (p, xv)
    y = Add (x, o)
}"""
EMBEDDING = """embedding (int64[N,5] ids) => (float[N,3] y)
<float[7,4] table, float[4,3] w, int64[1] steps = {1}> {
    e = Gather (table, ids)
    m = ReduceMean <keepdims = 0> (e, steps)
    t = Tanh (m)
    y = MatMul (t, w)
}"""
SHAPED = """shaped (float[N,6] x) => (float[N,4] y)
<float[2,4] w, int64[2] rows = {-1,2}, int64[1] first = {0}, int64[2] rest = {3,4}, int64[1] axes = {1}> {
    parts = Reshape (x, rows)
    m = MatMul (parts, w)
    t = Tanh (m)
    sizes = Shape (x)
    n = Gather <axis = 0> (sizes, first)
    shape = Concat <axis = 0> (n, rest)
    back = Reshape (t, shape)
    y = ReduceSum <keepdims = 0> (back, axes)
}"""
MERGED = """merged (float[N,T,4] x) => (float[N,4] y)
<float[4,4] w, int64[2] rows = {-1,4}> {
    t = Transpose<perm = [1,0,2]> (x)
    sizes = Shape (t)
    r = Reshape (t, rows)
    m = MatMul (r, w)
    h = Tanh (m)
    back = Reshape (h, sizes)
    axes = Constant<value_ints = [0]> ()
    y = ReduceSum <keepdims = 0> (back, axes)
}"""
LOSS = """loss (float[N,4] x, int64[N] labels) => (float l)
<float[4,3] w> {
    h = Tanh (x)
    logits = MatMul (h, w)
    l = SoftmaxCrossEntropyLoss <reduction = "REDUCTION"> (logits, labels)
}"""
TABLE = """table (float[N,4] x, float[N,4] keys) => (float[N,3] y)
<float[4,3] w> {
    s = Add (x, keys)
    t = Tanh (s)
    y = MatMul (t, w)
}"""

MODELS = {
    "mlp": MLP,
    "cnn": CNN,
    "lstm": BATCH_FIRST_LSTM,
    "attention": ATTENTION,
    "embedding": EMBEDDING,
    "reshapes": SHAPED,
}


def model(text: str, n: int | str = "N", seed: int = 0) -> onnx.ModelProto:
    """A model with random weights, whose batch is `n`."""
    text = text.replace("[N", f"[{n}").replace(",N", f",{n}")
    source = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 18]> {text}')
    rng = np.random.default_rng(seed)
    values = {value.name: value for value in source.graph.value_info}
    known = {one.name for one in source.graph.initializer}
    for name in [name for name in values if name not in known]:
        shape = [dim.dim_value for dim in values[name].type.tensor_type.shape.dim]
        array = rng.uniform(0.2, 0.9, shape) if name == "var" else rng.normal(size=shape) / 2
        source.graph.initializer.append(onnx.numpy_helper.from_array(array.astype(np.float32), name))
    return source


def drawn(compiled: gradc.Compiled, n: int, seed: int = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    found: dict[str, np.ndarray] = {}
    for one in compiled.inputs:
        shape = [dim if isinstance(dim, int) else n for dim in one.shape or ()]
        is_float = one.dtype == "f32"
        found[one.name] = rng.normal(size=shape).astype("f") if is_float else rng.integers(0, 3, shape)
    return found


def single_runs(
    compiled: gradc.Compiled, inputs: Arrays, axes: Mapping[str, int], count: int
) -> list[dict[str, np.ndarray]]:
    """The results of a model of one sample for each sample."""

    def take(name: str, index: int) -> np.ndarray:
        axis = axes.get(name)
        return inputs[name] if axis is None else np.take(inputs[name], [index], axis)

    return [
        compiled.run({one.name: take(one.name, index) for one in compiled.inputs}) for index in range(count)
    ]


@pytest.mark.parametrize("batch", ["N", 1, 4])
@pytest.mark.parametrize("name", MODELS)
def test_gradients_of_weights_and_inputs(name: str, batch: int | str):
    text, count = MODELS[name], batch if isinstance(batch, int) else 3
    source = model(text, batch)
    first = source.graph.input[0].name
    by = [":weights"] if name == "embedding" else [":weights", ":inputs"]
    found = gradc.vjp(source, of="y", wrt=by, per_sample=True, keep_outputs="all", check=True)
    assert found.proof is not None
    assert found.proof.status == "proved", str(found.proof)
    inputs = drawn(found, count)
    results = found.run(inputs)
    one = gradc.vjp(model(text, 1), of="y", wrt=by, keep_outputs="all", check=False)
    runs = single_runs(one, inputs, {first: 0, "cotangent_y": 0}, count)
    for key, array in results.items():
        rows = [run[key] for run in runs]
        axis = 1 if key == "h" and name == "lstm" else 0
        has_axis = key in {"y", "h", f"grad_{first}"}
        expected = np.concatenate(rows, axis) if has_axis else np.stack(rows)
        np.testing.assert_allclose(array, expected, rtol=2e-4, atol=2e-5, err_msg=key)


@pytest.mark.parametrize("batch", ["N", 1, 4])
@pytest.mark.parametrize("name", ["mlp", "cnn", "lstm", "attention"])
def test_jacobians(name: str, batch: int | str):
    text, count = MODELS[name], batch if isinstance(batch, int) else 3
    source = model(text, batch)
    weight = source.graph.initializer[0].name
    weight = {"lstm": "r", "attention": "q"}.get(name, weight)
    found = gradc.jacobian(source, of="y", wrt=["x", weight], per_sample=True)
    assert found.proof is not None
    assert found.proof.status == "proved", str(found.proof)
    inputs = drawn(found, count)
    results = found.run(inputs)
    one = gradc.jacobian(model(text, 1), of="y", wrt=["x", weight], check=False)
    runs = single_runs(one, inputs, {"x": 0}, count)
    y = len(source.graph.output[0].type.tensor_type.shape.dim)
    by_input = [np.squeeze(run["jacobian_y_x"], (0, y)) for run in runs]
    by_weight = [np.squeeze(run[f"jacobian_y_{weight}"], 0) for run in runs]
    np.testing.assert_allclose(results["jacobian_y_x"], by_input, rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(results[f"jacobian_y_{weight}"], by_weight, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("batch", ["N", 4])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_a_loss_with_labels(reduction: str, batch: int | str):
    """The gradient of a mean over the batch is the mean of all gradients, that of a sum their sum."""
    source = model(LOSS.replace("REDUCTION", reduction), batch)
    found = gradc.value_and_grad(source, wrt="w", per_sample=True, check=True)
    assert [one.name for one in found.outputs] == ["l", "grad_w"]
    assert found.proof is not None
    assert found.proof.status == "proved", str(found.proof)
    inputs = drawn(found, 4)
    results = found.run(inputs)
    assert results["l"].shape == (4,)
    runs = single_runs(
        gradc.value_and_grad(model(LOSS.replace("REDUCTION", reduction), 1), wrt="w", check=False),
        inputs,
        {"x": 0, "labels": 0},
        4,
    )
    for name in ("l", "grad_w"):
        np.testing.assert_allclose(results[name], [run[name] for run in runs], rtol=1e-4, atol=1e-6)
    whole = gradc.grad(source, wrt="w", check=False).run(inputs)["grad_w"]
    factor = 4 if reduction == "mean" else 1
    np.testing.assert_allclose(results["grad_w"].sum(0) / factor, whole, rtol=1e-4, atol=1e-6)


def test_a_reduction_is_that_of_a_sample():
    source = model(MLP)
    found = gradc.grad(source, wrt="w2", reduce="mean", per_sample=True)
    inputs = drawn(found, 3)
    one = gradc.grad(source, wrt="w2", reduce="mean", check=False)
    expected = [run["grad_w2"] for run in single_runs(one, inputs, {"x": 0}, 3)]
    np.testing.assert_allclose(found.run(inputs)["grad_w2"], expected, rtol=1e-4, atol=1e-6)


def test_an_input_that_all_samples_share():
    source = model(TABLE)
    found = gradc.vjp(source, wrt=["x", "keys"], batch_axis={"x": 0}, per_sample=True, check=False)
    assert [one.shape for one in found.outputs] == [("N", 4), ("N", 4)]
    text = TABLE.replace("[N,4] keys", "[1,4] keys")
    found = gradc.vjp(model(text), wrt=["x", "keys"], batch_axis={"keys": None}, per_sample=True, check=True)
    assert [one.shape for one in found.outputs] == [("N", 4), ("N", 1, 4)]
    inputs = drawn(found, 3)
    results = found.run(inputs)
    np.testing.assert_allclose(results["grad_keys"][:, 0], results["grad_x"], rtol=1e-6)


def test_an_inner_value():
    source = model(MLP)
    found = gradc.jacobian(source, of="r", wrt="h", per_sample=True, keep_outputs="of")
    inputs = drawn(found, 3)
    results = found.run(inputs)
    slopes = 1 - results["r"] ** 2
    np.testing.assert_allclose(
        results["jacobian_r_h"], slopes[:, None] * np.eye(5, dtype="f"), rtol=1e-4, atol=1e-6
    )


LOOP = """loop (float[N,4] x) => (float[N,4] y) <int64 n = {3}> {
    y = Loop(n, , x) <body = step (int64 i, bool before, float[N,4] s) => (bool after, float[N,4] t) {
        after = Identity(before)
        t = Sin(s)
    }>
}"""
BRANCHES = """branches (float[N,4] x, bool c) => (float[N,4] y) {
    y = If(c) <
        then_branch = a () => (float[N,4] p) { p = Sin(x) },
        else_branch = b () => (float[N,4] q) { m = Cos(x) q = Softmax<axis=AXIS>(m) }
    >
}"""


def test_control_flow():
    found = gradc.vjp(model(LOOP), per_sample=True, check=True)
    inputs = drawn(found, 3)
    one = gradc.vjp(model(LOOP, 1), check=False)
    runs = single_runs(one, inputs, {"x": 0, "cotangent_y": 0}, 3)
    expected = np.concatenate([run["grad_x"] for run in runs])
    np.testing.assert_allclose(found.run(inputs)["grad_x"], expected, rtol=1e-4, atol=1e-6)
    assert gradc.vjp(model(BRANCHES.replace("AXIS", "1")), wrt="x", per_sample=True).gradients
    with pytest.raises(gradc.UnsupportedError, match="samples interact in this op"):
        gradc.vjp(model(BRANCHES.replace("AXIS", "0")), wrt="x", per_sample=True)


def test_an_input_as_a_result():
    found = gradc.vjp(model(MLP), wrt="x", per_sample=True, keep_outputs=["x"])
    assert [(one.name, one.shape) for one in found.outputs] == [("x", ("N", 4)), ("grad_x", ("N", 4))]


def test_samples_within_a_merged_axis():
    """A value between, whose axis has the samples and others, does not prevent the derivative."""
    found = gradc.jacobian(model(MERGED), of="y", wrt="w", per_sample=True, check=True)
    inputs = {"x": np.random.default_rng(2).normal(size=(3, 5, 4)).astype("f")}
    one = gradc.jacobian(model(MERGED, 1), of="y", wrt="w", check=False)
    expected = [one.run({"x": inputs["x"][i : i + 1]})["jacobian_y_w"][0] for i in range(3)]
    np.testing.assert_allclose(found.run(inputs)["jacobian_y_w"], expected, rtol=1e-4, atol=1e-5)
    for of, kept in (("h", "none"), ("y", "h")):
        with pytest.raises(gradc.UnsupportedError, match="axis 0 of h, which has several elements"):
            gradc.vjp(model(MERGED), wrt="w", of=of, keep_outputs=kept, per_sample=True)


EXPORTED = {
    "class token": """token (float[3,5,4] x) => (float[3,4] y)
    <float[1,1,4] token, int64[3] shape = {3,-1,-1}, int64[1] rank = {3}, int64 minus = {-1}> {
        ones = ConstantOfShape<value: tensor = int64[1] {1}>(rank)
        free = Mul(ones, minus)
        is_free = Equal(shape, free)
        sizes = Where(is_free, ones, shape)
        tokens = Expand(token, sizes)
        all = Concat<axis = 1>(tokens, x)
        t = Tanh(all)
        axes = Constant<value_ints = [1]> ()
        y = ReduceMean<keepdims = 0>(t, axes)
    }""",
    "states": """states (float[3,5,4] x) => (float[1,3,2] y)
    <float[1,3,2] h0 = {0, 0, 0, 0, 0, 0}, float[1,6,4] w, float[1,6,2] r, int64[1] one = {1},
    int64[1] two = {2}> {
        s = Transpose<perm = [1,0,2]> (x)
        batch = Shape<start = 1, end = 2> (s)
        sizes = Concat<axis = 0> (one, batch, two)
        h = Expand (h0, sizes)
        all, y = GRU<hidden_size = 2> (s, w, r, , , h)
    }""",
}


@pytest.mark.parametrize("name", EXPORTED)
def test_a_fixed_batch_in_what_exporters_expand(name: str):
    source = model(EXPORTED[name])
    found = gradc.jacobian(source, of="y", wrt="x", per_sample=True, check=True)
    assert found.proof is not None
    assert found.proof.status == "proved", str(found.proof)
    inputs = drawn(found, 3)
    whole = gradc.jacobian(source, of="y", wrt="x", check=False).run(inputs)["jacobian_y_x"]
    whole = whole if name == "class token" else whole[0]
    rows = [whole[i, :, i] for i in range(3)]
    np.testing.assert_allclose(found.run(inputs)["jacobian_y_x"].reshape(np.shape(rows)), rows, atol=1e-6)


def test_bounds_of_slices_that_are_computed():
    """As exporters write `chunk`: the bounds follow from a size; the axis is not that of the samples."""
    text = """chunk (float[N,4] x) => (float[N,2] y)
    <int64[1] one = {1}, int64[1] zero = {0}, int64[1] two = {2}> {
        sizes = Shape(x)
        width = Gather(sizes, one)
        half = Div(width, two)
        first = Slice(x, zero, half, one)
        last = Slice(x, half, width, one)
        s = Sin(first)
        y = Mul(s, last)
    }"""
    found = gradc.jacobian(model(text, 3), per_sample=True, check=True)
    inputs = drawn(found, 3)
    (a, b), (c, d) = inputs["x"].T[:2], inputs["x"].T[2:]
    expected = np.zeros((3, 2, 4), np.float32)
    expected[:, 0, 0], expected[:, 0, 2] = np.cos(a) * c, np.sin(a)
    expected[:, 1, 1], expected[:, 1, 3] = np.cos(b) * d, np.sin(b)
    np.testing.assert_allclose(found.run(inputs)["jacobian_y_x"], expected, rtol=1e-4, atol=1e-6)


def test_an_unknown_rank():
    text = """rank (float[N,4] x) => (float[] y) <int64[1] minus = {-1}, int64[1] zero = {0}> {
        one = Abs(minus)
        all = Shape(x)
        batch = Slice(all, zero, one)
        shape = Concat<axis = 0>(batch, minus)
        t = Tanh(x)
        y = Reshape(t, shape)
    }"""
    with pytest.raises(gradc.UnsupportedError, match="y of unknown rank"):
        gradc.vjp(model(text), wrt="x", per_sample=True, check=False)


def test_an_element():
    with pytest.raises(gradc.UsageError, match="an element of one sample"):
        gradc.grad(model(MLP), of="y[0,1]", wrt="x", per_sample=True)
    found = gradc.grad(model(MLP), of="y[:,1]", wrt="w2", per_sample=True)
    assert [one.shape for one in found.outputs] == [("N", 5, 3)]


LOSSES = {
    "regularized": (
        "h = MatMul(x, w) s = Mul(h, h) m = ReduceMean<keepdims=0>(s) q = Mul(w, w)"
        " r = ReduceSum<keepdims=0>(q) l = Add(m, r)"
    ),
    "divided": (
        "h = MatMul(x, w) s = Exp(h) m = ReduceSum<keepdims=0>(s) c = Shape<start=0,end=1>(x)"
        " f = Cast<to=1>(c) g = Squeeze(f) l = Div(m, g)"
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_of_several_ops(name: str):
    text = f"loss (float[N,4] x) => (float l) <float[4,3] w> {{ {LOSSES[name]} }}"
    found = gradc.grad(model(text), wrt="w", per_sample=True, check=True)
    inputs = drawn(found, 3)
    one = gradc.grad(model(text, 1), wrt="w", check=False)
    expected = [run["grad_w"] for run in single_runs(one, inputs, {"x": 0}, 3)]
    np.testing.assert_allclose(found.run(inputs)["grad_w"], expected, rtol=1e-4, atol=1e-5)


def test_a_value_of_the_position():
    text = """position (float[N,4] x) => (float[N,4] y) {
        c = Shape<start=0,end=1>(x)
        s = Squeeze(c)
        zero = Constant<value_int=0>()
        one = Constant<value_int=1>()
        r = Range(zero, s, one)
        f = Cast<to=1>(r)
        axes = Constant<value_ints=[1]>()
        u = Unsqueeze(f, axes)
        y = Mul(x, u)
    }"""
    with pytest.raises(gradc.UnsupportedError, match="samples interact in this op"):
        gradc.vjp(model(text), per_sample=True)


JOINS = {
    "mean": ("m = ReduceMean <keepdims = 1> (x, first)  y = Sub (x, m)", "ReduceMean"),
    "softmax": ("s = Softmax <axis = 0> (x) y = Tanh (s)", "Softmax"),
    "product": ("t = Transpose <perm = [1,0]> (x) g = MatMul (x, t) y = MatMul (g, x)", "MatMul"),
    "cumulative": ("zero = Squeeze (first) c = CumSum (x, zero) y = Tanh (c)", "CumSum"),
    "reversed": (
        "end = Constant <value_ints = [-1]> () low = Constant <value_ints = [-9223372036854775807]> ()"
        " r = Slice (x, end, low, first, end) y = Add (x, r)",
        "Slice",
    ),
    "normalized": ("one, two, three = Split <num_outputs = 3> (x) y = Add (one, two)", "Split"),
    "largest": ("l = ReduceMax <keepdims = 0> (x, first) e = Exp (l) y = Mul (x, e)", "ReduceMax"),
    "masked": (
        "t = Transpose <perm = [1,0]> (x) z = Mul (t, t)"
        " s = Unsqueeze (z, first) p = MaxPool <kernel_shape = [3], pads = [1,1]> (s)"
        " q = Squeeze (p, first) y = Transpose <perm = [1,0]> (q)",
        "MaxPool",
    ),
}


@pytest.mark.parametrize("check", [None, False])
@pytest.mark.parametrize("name", JOINS)
def test_samples_that_interact(name: str, check: bool | None):
    body, op = JOINS[name]
    if check is False and name == "masked":
        pytest.skip("only the evaluation finds this")
    text = f"joins (float[N,4] x) => (float[N,4] y) <int64[1] first = {{0}}> {{ {body} }}"
    with pytest.raises(gradc.UnsupportedError, match="samples interact in this op") as error:
        gradc.vjp(model(text), per_sample=True, check=check)
    assert op in str(error.value)


def test_training_batch_normalization():
    text = """train (float[N,3] x) => (float[N,3] y)
    <float[3] scale, float[3] bias, float[3] mean, float[3] var> {
        y, m, v = BatchNormalization <training_mode = 1> (x, scale, bias, mean, var)
    }"""
    for batch in ("N", 4):
        with pytest.raises(gradc.UnsupportedError, match="samples interact in this op") as error:
            gradc.vjp(model(text, batch), of="y", wrt="x", per_sample=True)
        assert "BatchNormalization" in str(error.value)


def test_a_loss_that_is_no_sum_over_samples():
    text = """norm (float[N,3] x) => (float l) <int64[2] axes = {0,1}> {
        s = ReduceSumSquare <keepdims = 0> (x, axes)
        l = Sqrt (s)
    }"""
    with pytest.raises(gradc.UnsupportedError, match="samples interact in this op") as error:
        gradc.grad(model(text), per_sample=True)
    assert "ReduceSumSquare" in str(error.value)


def test_mixed_samples_are_found(monkeypatch: pytest.MonkeyPatch):
    right = vectorize.RULES["Tanh"]

    def mix(f: OpCall, b: Batch) -> list[Value]:
        found = next(iter(right(f, b) or ()))
        assert isinstance(found, Value)
        mean = found.apply(ReduceMeanOp, b.e.ints([0]), keepdims=1)
        return [found + (found - mean) * 0.01]

    rules = {**vectorize.RULES, "Tanh": mix}
    monkeypatch.setattr(vectorize, "RULES", rules)
    with pytest.raises(CheckError, match="of the compiled model is wrong"):
        gradc.vjp(model(MLP), per_sample=True)


def test_messages():
    with pytest.raises(gradc.UsageError, match="per_sample"):
        gradc.vjp(model(MLP), batch_axis={"x": 0})
    with pytest.raises(gradc.UsageError, match="one of the inputs x"):
        gradc.vjp(model(MLP), batch_axis={"z": 0}, per_sample=True)
    with pytest.raises(gradc.UsageError, match="0 or None; put a Transpose behind x"):
        gradc.vjp(model(MLP), batch_axis={"x": 1}, per_sample=True)
    with pytest.raises(gradc.UsageError, match="num_cotangents=3: expected one of the two; the Jacobian"):
        gradc.vjp(model(MLP), num_cotangents=3, per_sample=True)


@pytest.mark.parametrize("command", ["grad", "jacobian"])
def test_command(command: str, tmp_path: Path):
    source, out = tmp_path / "table.onnx", tmp_path / "out.onnx"
    onnx.save(model(TABLE.replace("[N,4] keys", "[1,4] keys")), source)
    more = ["--cotangents"] if command == "grad" else []
    options = ["--per-sample", "--batch-axis", "x=0", "--batch-axis", "keys=none", "--wrt", ":weights"]
    told = run_gradc(command, source, *options, *more, "-o", out)
    assert told.code == 0, told.err
    (result,) = onnx.load(out).graph.output
    dims = [dim.dim_param or dim.dim_value for dim in result.type.tensor_type.shape.dim]
    assert dims == (["N", 4, 3] if command == "grad" else ["N", 3, 4, 3])
    bad = run_gradc(command, source, "--per-sample", "--batch-axis", "x=1", "-o", out)
    assert bad.code == 2
    assert "INPUT=0" in bad.err
