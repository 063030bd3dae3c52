"""Right gradients that were once called wrong, or were not decided, by their check."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

import gradc
from gradc.verification.proof import Proof

HEAD = '<ir_version: 10, opset_import: ["": {opset}]>'


def model(text: str, opset: int = 21, **constants: Any) -> onnx.ModelProto:
    found = onnx.parser.parse_model(f"{HEAD.format(opset=opset)} {text}")
    arrays = {name: np.asarray(array) for name, array in constants.items()}
    found.graph.initializer.extend(onnx.numpy_helper.from_array(a, n) for n, a in arrays.items())
    return found


def proof_of(source: onnx.ModelProto, **options: Any) -> Proof:
    """Raises CheckError if the gradient is called wrong."""
    found = gradc.vjp(source, **{"wrt": "x", "check": True, **options}).proof
    assert found is not None
    return found


CANCELLED = [
    "t = Tanh (x) m = Max (t, t) y = Sub (t, m)",
    "t = Mul (x, x) m = Min (t, t, t) y = Sub (m, t)",
    "t = MatMul (x, x) m = Max (t, t) y = Sub (t, m)",
    "t = MatMul (x, x) m = Max (t, t) y = Sub (t, m) z = Softsign (m)",
    "t = MatMul (x, x) m = Mean (t, t, t) s = Softsign (m) r = Softsign (t) y = Sub (s, r) z = Exp (s)",
]


@pytest.mark.parametrize("nodes", CANCELLED)
def test_a_difference_that_is_zero(nodes: str):
    """All that is left of the tangent are the errors of differences of an op within it."""
    of = ["y", "z"] if "z =" in nodes else ["y"]
    results = ", ".join(f"float[4, 4] {name}" for name in of)
    found = proof_of(model(f"g (float[4, 4] x) => ({results}) {{ {nodes} }}"), of=of)
    assert found.whole


NODES = 1250

PAIRS = [(0.6, 0.8), (1.7, 0.3), (1.3, 1.1), (2.0, 2.0), (0.5, 3.0)]
ROUNDINGS = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
TRANSFORMS = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]


@pytest.mark.sweep
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("scales", PAIRS, ids=str)
def test_resize_nearest_by_scales(scales: tuple[float, float], rounding: str, transform: str):
    node = f"""y = Resize <mode = "nearest", nearest_mode = "{rounding}",
        coordinate_transformation_mode = "{transform}"> (u, , k)"""
    text = f"g (float[1, 2, 5, 7] x) => (float[1, 2, H, W] y) {{ u = Sin (x) {node} }}"
    found = proof_of(model(text, k=np.array([1, 1, *scales], np.float32)))
    assert found.status == "proved", str(found)


@pytest.mark.sweep
@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_resize_nearest_by_sizes_of_run_time(rounding: str, transform: str):
    node = f"""y = Resize <mode = "nearest", nearest_mode = "{rounding}",
        coordinate_transformation_mode = "{transform}"> (u, , , n)"""
    text = f"g (float[1, 2, 5, 7] x, int64[4] n) => (float[A, B, H, W] y) {{ u = Sin (x) {node} }}"
    found = proof_of(model(text))
    assert found.status == "proved", str(found)


def test_resize_to_sizes_of_which_a_sample_has_none():
    """The sample has a result without elements, whose gradient is 0."""
    node = 'y = Resize <mode = "nearest"> (x, , , n)'
    text = f"g (float[1, 1, 5, 6] x, int64[4] n) => (float[A, B, H, W] y) {{ {node} }}"
    found = proof_of(model(text))
    assert found.status == "proved", str(found)


def test_resize_nearest_by_scales_of_run_time():
    node = 'y = Resize <mode = "nearest"> (u, , k)'
    text = f"g (float[1, 2, 5, 7] x, float[4] k) => (float[A, B, H, W] y) {{ u = Sin (x) {node} }}"
    found = proof_of(model(text))
    assert found.status == "proved", str(found)


EXPANDS = {
    "length unknown": "g (float[3] x, int64[N] n) => (float[A, B] y) { u = Sin (x) y = Expand (u, n) }",
    "of three axes": """g (float[3, 1] x, int64[N] n) => (float[A, B, C] y) {
        u = Sin (x) y = Expand (u, n) }""",
    "shape of another input": """g (float[3, 1] x, float[A, B] z) => (float y) {
        n = Shape (z) u = Sin (x) e = Expand (u, n) y = ReduceSumSquare <keepdims = 0> (e) }""",
    "sizes unknown": """g (float[A, B] x, int64[2] n) => (float y) {
        u = Sin (x) e = Expand (u, n) y = ReduceSumSquare <keepdims = 0> (e) }""",
}


@pytest.mark.parametrize("name", EXPANDS)
def test_expand(name: str):
    found = proof_of(model(EXPANDS[name]))
    assert found.status == "proved", str(found)


@pytest.mark.parametrize("length", [8, 7, 12])
@pytest.mark.parametrize("inverse", [0, 1])
@pytest.mark.parametrize("parts", [1, 2])
def test_transform_of_doubles(length: int, inverse: int, parts: int):
    node = f"y = DFT <inverse = {inverse}> (u, n, a)"
    text = f"g (double[2, {length}, {parts}] x) => (double[2, {length}, 2] y) {{ u = Sin (x) {node} }}"
    source = model(text, 20, n=np.int64(length), a=np.int64(1))
    found = proof_of(source)
    assert found.status == "proved", str(found)


def test_one_sided_transform_of_doubles():
    text = "g (double[2, 9, 1] x) => (double[2, 5, 2] y) { u = Sin (x) y = DFT <onesided = 1> (u, , a) }"
    found = proof_of(model(text, 20, a=np.int64(1)))
    assert found.status == "proved", str(found)


@pytest.mark.parametrize("pool", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize("scale", [0.02, 0.25])
def test_pool_behind_dequantised_values(pool: str, scale: float):
    """Many values of a window have one code, so that the largest of them is none alone."""
    text = f"""g (float[1, 2, 8, 8] x) => (float[1, 3] y) {{
        q = QuantizeLinear (x, s, zero)
        d = DequantizeLinear (q, s, zero)
        kd = DequantizeLinear (kq, s, zero)
        c = Conv (d, kd)
        r = Relu (c)
        rq = QuantizeLinear (r, s, zero)
        rd = DequantizeLinear (rq, s, zero)
        p = {pool} <kernel_shape = [2, 2], strides = [2, 2]> (rd)
        f = Flatten (p)
        y = MatMul (f, w)
    }}"""
    rng = np.random.default_rng(0)
    weights = {
        "s": np.float32(scale),
        "zero": np.int8(0),
        "kq": rng.integers(-20, 20, (4, 2, 3, 3)).astype(np.int8),
        "w": rng.standard_normal((36, 3)).astype(np.float32),
    }
    found = proof_of(model(text, **weights), straight_through=True)
    assert found.status == "proved", str(found)


def test_a_long_graph_of_few_elements():
    """As many ops as a network has, on 4 elements: none is left out for want of time."""
    kinds = ["Sin", "Softmax", "Tanh", "Mul", "Add"]
    nodes = [_node(kinds[index % len(kinds)], index) for index in range(NODES)]
    text = f"""g (float[4] x) => (float y) {{
        v0 = Identity (x) {" ".join(nodes)} y = ReduceSum <keepdims = 0> (v{NODES}) }}"""
    found = proof_of(model(text))
    assert found.status == "proved", str(found)
    assert found.ops > NODES // 5


def _node(kind: str, index: int) -> str:
    operands = f"v{index}, v{max(index - 3, 0)}" if kind in ("Mul", "Add") else f"v{index}"
    return f"v{index + 1} = {kind} ({operands})"


def test_attention_before_weights_of_zero():
    """No cotangent reaches the attention, as where the last layer begins with zeros: its Softmax, whose
    derivative reads the cotangent of the product behind it, is checked with drawn ones."""
    rng = np.random.default_rng(0)
    arrays = {name: rng.normal(size=(4, 4)).astype(np.float32) for name in ("q", "k", "v")}
    text = """attention (float[2,9,4] x) => (float loss) {
        xq = MatMul(x, q) xk = MatMul(x, k) xv = MatMul(x, v)
        turned = Transpose<perm=[0,2,1]>(xk)
        scores = MatMul(xq, turned)
        weights = Softmax(scores)
        mixed = MatMul(weights, xv)
        logits = MatMul(mixed, head)
        square = ReduceSumSquare<keepdims=0>(logits) total = ReduceSum<keepdims=0>(logits)
        loss = Add(square, total)
    }"""
    source = model(text, **arrays, head=np.zeros((4, 3), np.float32))
    found = gradc.grad(source, wrt=[*arrays, "head"], check=True)
    assert found.proof is not None
    assert found.proof.status == "proved"


def iterated(body: str, factor: float, steps: int = 10) -> onnx.ModelProto:
    """A Loop that applies `body`, from `s` to `t`, with a factor for each column."""
    text = f"""g (float[N, 4] x) => (float[N, 4] y) {{
        y = Loop (n, yes, x) <body = step (int64 i, bool c, float[N, 4] s) => (bool d, float[N, 4] t) {{
            d = Identity (c)
            {body}
        }}>
    }}"""
    factors = np.full(4, factor, np.float32)
    return model(text, n=np.array(steps), yes=np.array(True), a=factors, half=np.float32(0.5))


SATURATED = {
    "tanh, errors of differences": ("u = Mul (a, s) v = Add (u, half) t = Tanh (v)", 10.0),
    "tanh, beyond all digits": ("u = Mul (a, s) t = Tanh (u)", 20.0),
    "tanh, errors of its kernel": ("u = Mul (a, s) t = Tanh (u)", 6.0),
    "tanh of a mean": (
        "m = ReduceMean <axes = [1]> (s) u = Mul (a, m) v = Tanh (u) w = Add (v, s) t = Mul (half, w)",
        4.0,
    ),
    "softmax": ("u = Mul (a, s) t = Softmax <axis = -1> (u)", 9.0),
    "sigmoid": ("u = Mul (a, s) t = Sigmoid (u)", 9.0),
}


@pytest.mark.parametrize(("body", "factor"), SATURATED.values(), ids=SATURATED)
def test_saturated_steps_of_a_loop(body: str, factor: float):
    opset = 17 if "ReduceMean" in body else 21
    source = iterated(body, factor)
    source.opset_import[0].version = opset
    proof_of(source, wrt=["a", "x"])


def test_a_wrong_rule_in_a_saturated_loop_is_found():
    """The derivative of a step of the loop is wrong by a thousandth, its value by nothing."""

    def wrong(f: Any, g: Any, e: Any) -> Any:
        return [g[0] * (1 - f.y * f.y) * 1.001]

    with pytest.raises(gradc.CheckError, match="Loop"):
        proof_of(iterated("u = Mul (a, s) t = Tanh (u)", 3.0), wrt=["a", "x"], rules={"Tanh": wrong})


@pytest.mark.parametrize("last", ["", "Tanh", "Exp"])
@pytest.mark.parametrize("factor", [1, 30, 60, 100, 1000])
@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
def test_a_saturated_softmax(op: str, factor: float, last: str):
    """Its derivative is a rounding error of a difference of equal numbers."""
    nodes = f"t = Mul (x, k) s = {op} (t) y = {last or 'Identity'} (s)"
    found = proof_of(model(f"g (float[2, 3] x) => (float[2, 3] y) {{ {nodes} }}", k=np.float32(factor)))
    assert found.whole
