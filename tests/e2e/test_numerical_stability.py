"""Compositions that overflow or round to 0: values and gradients of gradc against formulas in float64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import onnx.parser
import pytest

import gradc

POINTS = np.array(
    [0, 1e-4, -1e-4, 0.5, -0.5, 3, -3, 18, -18, 20, -20, 88, -88, 100, -100, 1e4, -1e4], np.float32
)
CONSTANTS = "one = Constant <value_float = 1.0> () two = Constant <value_float = 2.0> ()"

Truth = tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]


def softplus(x: np.ndarray) -> np.ndarray:
    return np.logaddexp(x, 0)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return np.exp(-softplus(-x))


def log_one_minus_exp(x: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(-np.expm1(x))


LOG_SIGMOID: Truth = (lambda x: -softplus(-x), lambda x: sigmoid(-x))
LOG_COMPLEMENT: Truth = (lambda x: -softplus(x), lambda x: -sigmoid(x))
SOFTPLUS: Truth = (softplus, sigmoid)
SIGMOID: Truth = (sigmoid, lambda x: sigmoid(x) * sigmoid(-x))
TANH: Truth = (np.tanh, lambda x: 4 * sigmoid(2 * x) * sigmoid(-2 * x))

BODIES: dict[str, tuple[str, Truth]] = {
    "log sigmoid": ("s = Sigmoid (x) y = Log (s)", LOG_SIGMOID),
    "log sigmoid of -x": ("n = Neg (x) s = Sigmoid (n) y = Log (s)", LOG_COMPLEMENT),
    "log(1 - sigmoid)": ("s = Sigmoid (x) c = Sub (one, s) y = Log (c)", LOG_COMPLEMENT),
    "log1p(-sigmoid)": ("s = Sigmoid (x) n = Neg (s) c = Add (n, one) y = Log (c)", LOG_COMPLEMENT),
    "log of a choice": (
        "z = Sub (one, one) m = Less (x, z) s = Sigmoid (x) c = Sub (one, s) w = Where (m, c, s) y = Log (w)",
        (lambda x: -softplus(-np.abs(x)), lambda x: np.where(x < 0, -1, 1) * sigmoid(-np.abs(x))),
    ),
    "log of a view": ("s = Sigmoid (x) u = Unsqueeze (s, k) l = Log (u) y = Squeeze (l, k)", LOG_SIGMOID),
    "log of a multiple": (
        "s = Sigmoid (x) h = Div (s, two) l = Log (h) g = Log (two) y = Add (l, g)",
        LOG_SIGMOID,
    ),
    "log of a quotient": ("e = Exp (x) s = Sigmoid (x) q = Div (e, s) y = Log (q)", SOFTPLUS),
    "softplus": ("e = Exp (x) p = Add (e, one) y = Log (p)", SOFTPLUS),
    "log(2 + exp)": (
        "e = Exp (x) p = Add (two, e) y = Log (p)",
        (lambda x: np.logaddexp(x, np.log(2)), lambda x: sigmoid(x - np.log(2))),
    ),
    "log(exp + exp)": (
        "n = Neg (x) e = Exp (x) f = Exp (n) p = Add (e, f) y = Log (p)",
        (lambda x: np.logaddexp(x, -x), lambda x: np.tanh(x)),
    ),
    "log of a sum of exponentials": (
        "a = Mul (x, two) x1 = Unsqueeze (x, k) a1 = Unsqueeze (a, k) j = Concat <axis = 1> (x1, a1)"
        " t = Exp (j) u = ReduceSum <keepdims = 0> (t, k) y = Log (u)",
        (lambda x: np.logaddexp(x, 2 * x), lambda x: 1 + sigmoid(x)),
    ),
    "log cosh": ("c = Cosh (x) y = Log (c)", (lambda x: np.logaddexp(x, -x) - np.log(2), np.tanh)),
    "log exp": ("e = Exp (x) y = Log (e)", (lambda x: x, np.ones_like)),
    "log(1 - tanh^2)": (
        "t = Tanh (x) q = Mul (t, t) d = Sub (one, q) y = Log (d)",
        (lambda x: np.log(4) - softplus(2 * x) - softplus(-2 * x), lambda x: -2 * np.tanh(x)),
    ),
    "sigmoid": ("n = Neg (x) e = Exp (n) d = Add (one, e) y = Div (one, d)", SIGMOID),
    "sigmoid by a reciprocal": ("n = Neg (x) e = Exp (n) d = Add (one, e) y = Reciprocal (d)", SIGMOID),
    "sigmoid by two exponentials": ("e = Exp (x) d = Add (e, one) y = Div (e, d)", SIGMOID),
    "sigmoid by a product": ("e = Exp (x) d = Add (e, one) r = Reciprocal (d) y = Mul (e, r)", SIGMOID),
    "silu": (
        "n = Neg (x) e = Exp (n) d = Add (one, e) y = Div (x, d)",
        (lambda x: x * sigmoid(x), lambda x: sigmoid(x) * (1 + x * sigmoid(-x))),
    ),
    "tanh": ("n = Neg (x) e = Exp (x) f = Exp (n) d = Sub (e, f) s = Add (e, f) y = Div (d, s)", TANH),
    "tanh by one exponential": (
        "t = Mul (x, two) e = Exp (t) d = Sub (e, one) s = Add (e, one) y = Div (d, s)",
        TANH,
    ),
    "log of the written sigmoid": ("n = Neg (x) e = Exp (n) d = Add (one, e) s = Div (one, d) y = Log (s)",
                                   LOG_SIGMOID),
}  # fmt: skip


def model(body: str, shape: str = "N", opset: int = 18) -> onnx.ModelProto:
    text = f"""<ir_version: 8, opset_import: ["": {opset}]> g (float[{shape}] x) => (float[{shape}] y)
        <int64[1] k = {{1}}> {{ {CONSTANTS} {body} }}"""
    return onnx.parser.parse_model(text)


def check(body: str, truth: Truth, points: np.ndarray, **options: bool) -> None:
    found = gradc.value_and_grad(model(body), wrt="x", reduce="sum", check=False, **options).run(
        {"x": points}
    )
    for got, formula in ((found["y"], truth[0]), (found["grad_x"], truth[1])):
        np.testing.assert_allclose(got, formula(points.astype(np.float64)), rtol=2e-4, atol=2e-6)


@pytest.mark.parametrize("name", BODIES)
def test_what_overflows_or_rounds_to_zero(name: str):
    check(*BODIES[name], POINTS)
    if name in ("log sigmoid", "tanh"):
        check(*BODIES[name], POINTS, strict_ieee=True)


SMALL = np.array([-1e-30, -1e-8, -1e-4, -0.5, -1, -20, -100, -1e4], np.float32)


@pytest.mark.parametrize(
    "body",
    ["e = Exp (x) d = Sub (one, e) y = Log (d)", "e = Exp (x) m = Sub (e, one) d = Neg (m) y = Log (d)"],
)
def test_log_of_one_minus_exp(body: str):
    check(body, (log_one_minus_exp, lambda x: np.exp(x) / np.expm1(x)), SMALL)


def test_log_of_exp_minus_one():
    body = "e = Exp (x) d = Sub (e, one) y = Log (d)"
    check(body, (lambda x: x + log_one_minus_exp(-x), lambda x: -1 / np.expm1(-x)), -SMALL)


ROWS = np.array([[0, 0, 0], [100, -100, 1], [1e3, -1e3, 1e3], [-200, -200, -200]], np.float32)


def log_softmax(x: np.ndarray) -> np.ndarray:
    shifted = x - x.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


SOFTMAXES = {
    "log softmax": ("p = Softmax <axis = -1> (x) y = Log (p)", log_softmax),
    "softmax": ("e = Exp (x) s = ReduceSum (e, k) y = Div (e, s)", lambda x: np.exp(log_softmax(x))),
    "log softmax of exponentials": (
        "e = Exp (x) s = ReduceSum (e, k) l = Log (s) y = Sub (x, l)",
        log_softmax,
    ),
    "log of the written softmax": (
        "e = Exp (x) s = ReduceSum (e, k) q = Div (e, s) y = Log (q)",
        log_softmax,
    ),
    "entropy": (
        "p = Softmax <axis = -1> (x) l = Log (p) y = Mul (p, l)",
        lambda x: np.exp(log_softmax(x)) * log_softmax(x),
    ),
    "divergence": (
        "p = Softmax <axis = -1> (x) q = Div (p, two) l = Log (q) y = Mul (p, l)",
        lambda x: np.exp(log_softmax(x)) * (log_softmax(x) - np.log(2)),
    ),
}


@pytest.mark.parametrize("name", SOFTMAXES)
def test_softmaxes(name: str):
    body, value = SOFTMAXES[name]
    weights = np.array([[1.0, -2.0, 0.5]])
    found = gradc.vjp(model(body, "4, 3"), wrt="x", keep_outputs=["y"], check=False)
    got = found.run({"x": ROWS, "cotangent_y": np.broadcast_to(weights, (4, 3)).astype(np.float32)})
    x, step = ROWS.astype(np.float64), 1e-5
    ends = [[value(x + sign * step * row) for sign in (1, -1)] for row in np.eye(3)]
    wanted = np.stack([((up - down) * weights).sum(-1) / (2 * step) for up, down in ends], -1)
    np.testing.assert_allclose(got["y"], value(x), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(got["grad_x"], wanted, rtol=1e-3, atol=1e-5)


def test_a_value_that_is_differentiated_by_stays():
    found = gradc.grad(model("s = Sigmoid (x) y = Log (s)"), wrt="s", reduce="sum", check=False)
    got = found.run({"x": np.array([0, 1], np.float32)})["grad_s"]
    np.testing.assert_allclose(got, [2, 1 + np.exp(-1)], rtol=1e-6)


def test_an_op_with_a_rule_of_the_user_stays():
    found = gradc.grad(
        model("s = Sigmoid (x) y = Log (s)"),
        rules={"Sigmoid": lambda f, g, e: (g[0] * 3,)},
        reduce="sum",
        check=False,
    )
    got = found.run({"x": np.array([0, 1], np.float32)})["grad_x"]
    np.testing.assert_allclose(got, [6, 3 * (1 + np.exp(-1))], rtol=1e-6)


@pytest.mark.parametrize(
    "body",
    [
        "s = Sigmoid (x) p = Add (s, two) y = Log (p)",
        "a = Abs (x) n = Neg (a) e = Exp (n) p = Add (one, e) y = Log (p)",
    ],
)
def test_what_is_bounded_stays(body: str):
    found = gradc.value_and_grad(model(body), wrt="x", reduce="sum", check=False)
    assert "Softplus" not in [node.op_type for node in found.model.graph.node]


def test_second_derivatives():
    source = model("s = Sigmoid (x) y = Log (s)")
    x = np.array([-100, -20, 0, 20, 100], np.float32)
    found = gradc.hvp(source, wrt="x", reduce="sum", check=False).run({"x": x, "tangent_x": np.ones_like(x)})
    wide = x.astype(np.float64)
    np.testing.assert_allclose(found["hvp_x"], -sigmoid(wide) * sigmoid(-wide), rtol=1e-4, atol=1e-7)
