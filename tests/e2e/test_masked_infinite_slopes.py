"""Gradients behind a bound where what reads it has an infinite derivative: 0, as torch's, not 0 times inf."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import pytest

import gradc

BOUNDS = "low = Constant <value_float = -1.0> () high = Constant <value_float = 1.0> ()"
NONE = "none = Constant <value_float = 0.0> ()"
INSIDE = np.array([[0.25, 0.5], [0.75, 0.875]], np.float32)


def root(x: np.ndarray) -> np.ndarray:
    return 0.5 / np.sqrt(x)


MODELS = {
    "a root of a Relu": ("a = Relu (x) y = Sqrt (a)", root),
    "a root of a Clip": (f"{NONE} a = Clip (x, none) y = Sqrt (a)", root),
    "a root of a Max": (f"{NONE} a = Max (x, none) y = Sqrt (a)", root),
    "a root of a Min": (f"{NONE} n = Neg (x) m = Min (n, none) a = Neg (m) y = Sqrt (a)", root),
    "a root of a Where": (f"{NONE} c = Greater (x, none) a = Where (c, x, none) y = Sqrt (a)", root),
    "a root of a ThresholdedRelu": ("a = ThresholdedRelu <alpha = 0.0> (x) y = Sqrt (a)", root),
    "a power": ("p = Constant <value_float = 0.25> () a = Relu (x) y = Pow (a, p)", lambda x: x**-0.75 / 4),
    "a quotient": ("a = Relu (x) y = Reciprocal (a)", lambda x: -1 / x**2),
    "a divisor": (f"{BOUNDS} a = Relu (x) y = Div (high, a)", lambda x: -1 / x**2),
    "a logarithm": ("a = Relu (x) b = Transpose (a) c = Log (b) y = Transpose (c)", lambda x: 1 / x),
    "an angle": (f"{BOUNDS} a = Clip (x, low, high) y = Acos (a)", lambda x: -1 / np.sqrt(1 - x**2)),
    "a sine": (
        f"{BOUNDS} a = Clip (x, low, high) s = Mul (a, a) d = Sub (high, s) y = Sqrt (d)",
        lambda x: -x / np.sqrt(1 - x**2),
    ),
}  # fmt: skip
"""What is 0 or at a bound wherever x is below 0 or above 1, and its derivative within."""

OUTSIDE = {
    "an angle": np.array([[-1.5, 1.5]], np.float32),
    "a sine": np.array([[-1.5, 1.5]], np.float32),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_mask_hides_an_infinite_derivative(name: str):
    body, derivative = MODELS[name]
    head = '<ir_version: 8, opset_import: ["": 17]>'
    source = onnx.parser.parse_model(f"{head} g (float[N, 2] x) => (float[N, 2] y) {{ {body} }}")
    outside = OUTSIDE.get(name, np.array([[-0.5, -2.0]], np.float32))
    x = np.concatenate([outside, INSIDE])
    expected = np.concatenate([np.zeros_like(outside), derivative(INSIDE)])
    for strict_ieee in (False, True):
        found = gradc.grad(source, wrt="x", reduce="sum", strict_ieee=strict_ieee).run({"x": x})["grad_x"]
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_second_derivatives_are_hidden_too():
    head = '<ir_version: 8, opset_import: ["": 17]>'
    source = onnx.parser.parse_model(f"{head} g (float[N] x) => (float[N] y) {{ a = Relu (x) y = Sqrt (a) }}")
    x, tangent = np.array([-1.0, 0.25, 4.0], np.float32), np.array([3.0, 2.0, 1.0], np.float32)
    found = gradc.hvp(source, wrt="x", reduce="sum").run({"x": x, "tangent_x": tangent})["hvp_x"]
    np.testing.assert_allclose(found, [0.0, -0.25 * 0.25**-1.5 * 2, -0.25 * 4**-1.5], rtol=1e-5)


def test_a_mask_before_a_variance_is_a_product():
    """1e-5 under the root keeps the derivative finite: a layer norm behind a Relu stays as quick."""
    body = """eps = Constant <value_float = 0.00001> () a = Relu (x) s = Mul (a, a)
    m = ReduceMean <axes = [-1]> (s) v = Add (m, eps) r = Sqrt (v) y = Div (a, r)"""
    head = '<ir_version: 8, opset_import: ["": 17]>'
    source = onnx.parser.parse_model(f"{head} g (float[N, 8] x) => (float[N, 8] y) {{ {body} }}")
    found = gradc.grad(source, wrt="x", reduce="sum").model.graph.node
    assert "Where" not in [node.op_type for node in found]
