"""`gradc.ggnvp`, products of the Gauss-Newton matrix, against J^T H J of numpy and of `gradc.jacobian`."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

import gradc

HEAD = '<ir_version: 8, opset_import: ["": 18]> '
NETWORK = (
    HEAD
    + """f (double[N,4] x, double[4,5] v, double[5,3] w, double[N,3] y) => (double loss) {
    h = MatMul(x, v)
    a = Tanh(h)
    z = MatMul(a, w)
    logs = LogSoftmax(z)
    picked = Mul(logs, y)
    sum = ReduceSum <keepdims = 0> (picked)
    loss = Neg(sum)
}"""
)
CONVOLUTION = (
    HEAD
    + """f (float[1,2,5,5] x, float[3,2,2,2] k) => (float loss) {
    c = Conv(x, k)
    s = Sigmoid(c)
    z = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (s)
    e = Exp(z)
    t = Mul(e, z)
    loss = ReduceSum <keepdims = 0> (t)
}"""
)
LOOP = (
    HEAD
    + """f (double[3] x, double[3] w) => (double loss) <int64 steps = {3}> {
    z = Loop <body = body (int64 i, bool more, double[3] state) => (bool again, double[3] next) {
        again = Identity(more)
        m = Mul(state, w)
        next = Sin(m)
    }> (steps, , x)
    q = Mul(z, z)
    p = Mul(q, z)
    loss = ReduceSum <keepdims = 0> (p)
}"""
)
BRANCHES = (
    HEAD
    + """f (double[3] x) => (double loss) {
    z = Exp(x)
    t = Sin(x)
    a = Mul(z, z)
    s = ReduceSum <keepdims = 0> (a)
    b = ReduceSum <keepdims = 0> (t)
    loss = Add(s, b)
}"""
)


def inputs_of(source: onnx.ModelProto, n: int = 2) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    found = gradc.compile(source).inputs
    shapes = {one.name: [d if isinstance(d, int) else n for d in one.shape or ()] for one in found}
    dtypes = {one.name: np.float32 if one.dtype == "f32" else np.float64 for one in found}
    return {name: rng.normal(size=shape).astype(dtypes[name]) for name, shape in shapes.items()}


def product_by_matrices(
    source: onnx.ModelProto, loss: onnx.ModelProto, wrt: list[str], tangents: dict[str, Any], inputs: Any
) -> dict[str, Any]:
    """J^T H J v from the Jacobian of z, and the Hessian of a model of the loss of z."""
    jacobian = gradc.jacobian(source, of="z", wrt=wrt, keep_outputs="of", check=False).run(inputs)
    z, count = jacobian["z"], jacobian["z"].size
    hessian = gradc.hessian(loss, wrt="z", of="loss", check=False)
    more = {one.name: inputs[one.name] for one in hessian.inputs if one.name != "z"}
    matrix = hessian.run({"z": z, **more})["hessian_loss_z_z"].reshape(count, count)
    parts = {name: jacobian[f"jacobian_z_{name}"].reshape(count, -1) for name in wrt}
    moved = sum(parts[name] @ tangents[name].reshape(-1) for name in wrt)
    return {name: (parts[name].T @ matrix @ moved).reshape(tangents[name].shape) for name in wrt}


def loss_of(text: str, z: str) -> onnx.ModelProto:
    """The ops of a model after z, which is an input."""
    whole = onnx.parser.parse_model(text)
    names = [node.output[0] for node in whole.graph.node]
    kept = list(whole.graph.node)[names.index("z") + 1 :]
    made = {name for node in kept for name in node.output}
    read = {name for node in kept for name in node.input} - made - {"z"}
    found = onnx.parser.parse_model(
        f"{HEAD} f ({z} z) => ({z.partition('[')[0]} loss) {{ loss = Identity(z) }}"
    )
    del found.graph.node[:]
    found.graph.node.extend(kept)
    found.graph.input.extend(one for one in whole.graph.input if one.name in read)
    return found


CASES = {
    "classifier": (NETWORK, "double[N,3]", ["v", "w"]),
    "inputs": (NETWORK, "double[N,3]", ["x"]),
    "convolution": (CONVOLUTION, "float[1,3,2,2]", ["k", "x"]),
    "loop": (LOOP, "double[3]", ["w"]),
}


@pytest.mark.sweep
@pytest.mark.parametrize("name", CASES)
def test_against_matrices(name: str):
    text, z, wrt = CASES[name]
    source = onnx.parser.parse_model(text)
    product = gradc.ggnvp(source, wrt=wrt, through="z", check=True)
    assert product.proof is not None
    assert product.proof.whole
    inputs, rng = inputs_of(source), np.random.default_rng(1)
    tangents = {one: rng.normal(size=inputs[one].shape).astype(inputs[one].dtype) for one in wrt}
    close = 1e-8 if z.startswith("double") else 1e-4
    found = product.run({**inputs, **{f"tangent_{one}": array for one, array in tangents.items()}})
    for one, expected in product_by_matrices(source, loss_of(text, z), wrt, tangents, inputs).items():
        np.testing.assert_allclose(found[f"ggnvp_{one}"], expected, rtol=close, atol=close)


def test_it_is_no_hessian_unless_the_value_is_linear():
    """The second derivatives of z are left out: by w, of which z is a linear function, there are none."""
    source = onnx.parser.parse_model(NETWORK)
    inputs = inputs_of(source)
    for wrt, is_equal in (("w", True), ("v", False)):
        given = {**inputs, f"tangent_{wrt}": np.ones_like(inputs[wrt])}
        products = gradc.ggnvp(source, wrt=wrt, through="z", check=False).run(given)[f"ggnvp_{wrt}"]
        hessian = gradc.hvp(source, wrt=wrt, check=False).run(given)[f"hvp_{wrt}"]
        assert np.allclose(products, hessian) == is_equal


def test_several_values():
    """z = exp(x) with the loss z^2, and t = sin(x) with a linear one, whose Hessian is 0."""
    source = onnx.parser.parse_model(BRANCHES)
    x, step = np.array([0.1, 0.2, 0.3]), np.array([1.0, 2, 3])
    product = gradc.ggnvp(source, wrt="x", through=["z", "t"], keep_outputs="of", check=True)
    found = product.run({"x": x, "tangent_x": step})
    np.testing.assert_allclose(found["ggnvp_x"], 2 * np.exp(2 * x) * step)
    assert product.derivatives[0].kind == "ggnvp"
    assert [one.name for one in product.outputs] == ["loss", "ggnvp_x"]


def test_weights_of_the_file():
    source = onnx.parser.parse_model(NETWORK)
    inputs = inputs_of(source)
    kept = [one for one in source.graph.input if one.name != "w"]
    weight = onnx.numpy_helper.from_array(inputs["w"], "w")
    expected = gradc.ggnvp(source, wrt="w", through="z", check=False)
    del source.graph.input[:]
    source.graph.input.extend(kept)
    source.graph.initializer.append(weight)
    found = gradc.ggnvp(source, wrt="w", through="z", check=False)
    given = {**inputs, "tangent_w": np.ones_like(inputs["w"])}
    np.testing.assert_allclose(found.run(given)["ggnvp_w"], expected.run(given)["ggnvp_w"], rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"wrt": "v"}, "through: given None, expected the value that the loss is a function of"),
        ({"wrt": "v", "through": "zz"}, "zz"),
        ({"wrt": ["v", "z"], "through": "z"}, "z in wrt and in through"),
        ({"wrt": "w", "through": "a", "allow_unused": True}, "a, which does not depend on wrt"),
    ],
)
def test_requests_without_a_matrix(options: Any, text: str):
    with pytest.raises(gradc.UsageError, match=text):
        gradc.ggnvp(onnx.parser.parse_model(NETWORK), **options)
