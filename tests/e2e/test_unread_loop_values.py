"""Values that a Loop carries and no step reads: before the first step they may have any shape."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest

import gradc

MODEL = """<ir_version: 8, opset_import: ["": 14]>
agraph (float[b,2] x, float[2,2] w, int64 n) => (float[c,d] y) {
    yes = Constant <value = bool {1}> ()
    none = INITIAL
    states, last = Loop <body = step (int64 i, bool on, float[p,2] h, float[q,2] old) => (still, more, new) {
        still = Identity(on)
        product = MatMul(h, w)
        more = Tanh(product)
        new = Mul(more, product)
    }> (n, yes, x, none)
    zero = Constant <value_ints = [0]> ()
    one = Constant <value_ints = [1]> ()
    two = Constant <value_ints = [2]> ()
    part = Slice(last, zero, two, one)
    y = Softmax <axis = 1> (part)
}"""
GROWING = """
        mean = ReduceMean <axes = [0], keepdims = 1> (h)
        product = MatMul(mean, w)
        more = Concat <axis = 0> (h, product)
        new = Tanh(more)"""
INITIAL = {
    "another size": "Constant <value = float[1,2] {0, 0}> ()",
    "another rank": "Constant <value = float[1] {0}> ()",
    "a scalar": "Constant <value = float {0}> ()",
    "the same shape": "Sin(x)",
}
STEPS = 3


def _loss(x: np.ndarray, w: np.ndarray, cotangent: np.ndarray) -> float:
    last = x
    for _ in range(STEPS):
        product = x @ w
        x = np.tanh(product)
        last = x * product
    exp = np.exp(last)
    return float((cotangent * exp / exp.sum(1, keepdims=True)).sum())


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("kind", INITIAL)
def test_the_gradient_is_that_of_what_the_last_step_made(kind: str, batch: int):
    rng = np.random.default_rng(7)
    x, w, cotangent = (rng.standard_normal(shape) for shape in ((batch, 2), (2, 2), (batch, 2)))
    model = onnx.parser.parse_model(MODEL.replace("INITIAL", INITIAL[kind]))
    compiled = gradc.grad(model, wrt=["x", "w"], cotangents=True)
    feed = {"x": x, "w": w, "cotangent_y": cotangent}
    found = compiled.run({**{k: v.astype(np.float32) for k, v in feed.items()}, "n": np.array(STEPS)})
    to_x, to_w = rng.standard_normal(x.shape), rng.standard_normal(w.shape)
    step = 1e-6
    ahead = _loss(x + step * to_x, w + step * to_w, cotangent)
    behind = _loss(x - step * to_x, w - step * to_w, cotangent)
    slope = (found["grad_x"] * to_x).sum() + (found["grad_w"] * to_w).sum()
    np.testing.assert_allclose(slope, (ahead - behind) / (2 * step), rtol=1e-4, atol=1e-6)


def test_of_no_step_the_cotangent_goes_to_the_initial_value():
    model = onnx.parser.parse_model(MODEL.replace("INITIAL", INITIAL["the same shape"]))
    compiled = gradc.grad(model, wrt=["x"], cotangents=True)
    x, cotangent = np.array([[0.3, -0.2]], np.float32), np.array([[1, 0]], np.float32)
    feed = {"x": x, "w": np.eye(2, dtype=np.float32), "n": np.array(0), "cotangent_y": cotangent}
    found = compiled.run(feed)
    y = np.exp(np.sin(x)) / np.exp(np.sin(x)).sum()
    expected = y * (cotangent - (y * cotangent).sum()) * np.cos(x)
    np.testing.assert_allclose(found["grad_x"], expected, rtol=1e-5)


@pytest.mark.parametrize("steps", [1, 4])
def test_a_value_that_nothing_reads_needs_no_rank(steps: int):
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 14]>
agraph (float[b,2] x, int64 n) => (float[b,2] y) {
    yes = Constant <value = bool {1}> ()
    none = Constant <value = float {0}> ()
    y, unread = Loop <body = step (int64 i, bool on, float[p,2] h, float[q,2] old) => (still, more, new) {
        still = Identity(on)
        more = Sin(h)
        new = Cos(h)
    }> (n, yes, x, none)
}""")
    compiled = gradc.grad(model, wrt=["x"], reduce="sum")
    x = np.array([[0.3, -0.2], [0.1, 0.4]], np.float32)
    expected, value = np.ones_like(x), x
    for _ in range(steps):
        expected, value = expected * np.cos(value), np.sin(value)
    found = compiled.run({"x": x, "n": np.array(steps)})
    np.testing.assert_allclose(found["grad_x"], expected, rtol=1e-5)


def test_beside_what_grows():
    text = MODEL.replace("INITIAL", INITIAL["another size"])
    begin, end = text.index("product ="), text.index("    }> (n, yes, x")
    model = onnx.parser.parse_model(text[:begin] + GROWING.strip() + "\n" + text[end:])
    compiled = gradc.grad(model, wrt=["x"], cotangents=True)
    rng = np.random.default_rng(7)
    x, w, cotangent, line = (rng.standard_normal(shape) for shape in ((1, 2), (2, 2), (3, 2), (1, 2)))

    def loss(at: np.ndarray) -> float:
        for _ in range(2):
            at = np.concatenate([at, at.mean(0, keepdims=True) @ w])
        exp = np.exp(np.tanh(at))
        return float((cotangent * exp / exp.sum(1, keepdims=True)).sum())

    feed = {k: v.astype(np.float32) for k, v in {"x": x, "w": w, "cotangent_y": cotangent}.items()}
    found = compiled.run({**feed, "n": np.array(2)})
    slope = (loss(x + 1e-6 * line) - loss(x - 1e-6 * line)) / 2e-6
    np.testing.assert_allclose((found["grad_x"] * line).sum(), slope, rtol=1e-4, atol=1e-6)
