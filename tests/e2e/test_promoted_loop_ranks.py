"""Loops that begin with a number, or one row, and add tensors of more axes to it."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest

import gradc

MODEL = """<ir_version: 8, opset_import: ["": 17]>
agraph (float[b,2] x, float[2,4] w, INPUT int64 n) => (float[b,c] y) {
    yes = Constant <value = bool {1}> ()
    INITIAL
    y = Loop <body = step (int64 i, bool going, float TYPE total) => (still, more) {
        still = Identity(going)
        nine = Constant <value = float {0.9}> ()
        product = MatMul(x, w)
        new = Tanh(product)
        BODY
    }> (n, yes, first)
}"""
INITIAL = {
    "a number": ("", "first = Constant <value = float {0.5}> ()", ""),
    "a row": ("", "first = Constant <value = float[1] {0.5}> ()", "[1]"),
    "an input": ("float first,", "", ""),
}
BODY = {
    "sum": "more = Add(total, new)",
    "mean": "less = Mul(nine, total) all = Add(less, new) more = Mul(all, all)",
}


def _loss(x: np.ndarray, w: np.ndarray, first: float, body: str, steps: int) -> float:
    total: np.ndarray | float = first
    for _ in range(steps):
        new = np.tanh(x @ w)
        total = total + new if body == "sum" else np.square(0.9 * total + new)
    return float(np.sum(total))


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("body", BODY)
@pytest.mark.parametrize("kind", INITIAL)
def test_the_gradient_is_that_of_the_sum(kind: str, body: str, batch: int):
    given, initial, type_ = INITIAL[kind]
    text = MODEL.replace("INPUT", given).replace("INITIAL", initial).replace("TYPE", type_)
    model = onnx.parser.parse_model(text.replace("BODY", BODY[body]))
    wrt = ["x", "w", *(["first"] if kind == "an input" else [])]
    compiled = gradc.grad(model, wrt=wrt, reduce="sum")
    assert compiled.proof.status == "proved"
    rng = np.random.default_rng(3)
    point = {"x": rng.standard_normal((batch, 2)), "w": rng.standard_normal((2, 4)), "first": np.array(0.5)}
    names = [value.name for value in model.graph.input if value.name != "n"]
    found = compiled.run({**{k: point[k].astype(np.float32) for k in names}, "n": np.array(2)})
    for name in wrt:
        line = rng.standard_normal(point[name].shape)
        ahead, behind = (
            _loss(**{**point, name: point[name] + step * line}, body=body, steps=2) for step in (1e-6, -1e-6)
        )
        assert found[f"grad_{name}"].shape == point[name].shape
        np.testing.assert_allclose(
            (found[f"grad_{name}"] * line).sum(), (ahead - behind) / 2e-6, rtol=1e-4, atol=1e-5
        )


OF_ITS_AXES = """
        sizes = Shape(total)
        axes = Size(sizes)
        count = Cast <to = 1> (axes)
        more = Add(new, count)"""


def test_a_number_that_is_read_otherwise_stays_one():
    """The number of its axes is another one from the second step on."""
    text = MODEL.replace("INPUT", "").replace("INITIAL", INITIAL["a number"][1]).replace("TYPE", "")
    model = onnx.parser.parse_model(text.replace("BODY", OF_ITS_AXES))
    compiled = gradc.value_and_grad(model, wrt=["x"], reduce="sum")
    x, w = np.full((3, 2), 0.25, np.float32), np.full((2, 4), 0.5, np.float32)
    found = compiled.run({"x": x, "w": w, "n": np.array(1)})
    np.testing.assert_allclose(found["y"], np.tanh(x @ w), rtol=1e-5)
