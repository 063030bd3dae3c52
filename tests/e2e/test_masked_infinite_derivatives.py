"""Branches that are not chosen where their derivative is infinite or NaN, and angles on the axes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import onnx.parser
import pytest

import gradc

CONSTANTS = """zero = Constant <value_float = 0.0> () one = Constant <value_float = 1.0> ()
    half = Constant <value_float = 0.5> ()"""


def model(body: str, inputs: str = "float[N] x") -> onnx.ModelProto:
    head = '<ir_version: 8, opset_import: ["": 18]>'
    return onnx.parser.parse_model(f"{head} g ({inputs}) => (float[N] y) {{ {CONSTANTS} {body} }}")


POINTS = np.array([0, -1, -4, 0.25, 2, 100, -100], np.float32)

Slope = Callable[[np.ndarray], np.ndarray]

BODIES: dict[str, tuple[str, Slope]] = {
    "a logarithm": ("c = Greater (x, zero) l = Log (x) y = Where (c, l, zero)", lambda x: 1 / x),
    "a root": ("c = Greater (x, zero) r = Sqrt (x) y = Where (c, r, zero)", lambda x: 0.5 / np.sqrt(x)),
    "the second branch": (
        "c = LessOrEqual (x, zero) r = Sqrt (x) y = Where (c, zero, r)",
        lambda x: 0.5 / np.sqrt(x),
    ),
    "a product": (
        "c = Greater (x, zero) l = Log (x) p = Mul (x, l) y = Where (c, p, zero)",
        lambda x: np.log(x) + 1,
    ),
    "a quotient": (
        "c = Greater (x, zero) s = Sin (x) q = Div (s, x) y = Where (c, q, zero)",
        lambda x: np.cos(x) / x - np.sin(x) / x**2,
    ),
    "a difference of squares": (
        "c = Greater (x, zero) q = Mul (x, x) p = Add (q, x) r = Sqrt (p) y = Where (c, r, zero)",
        lambda x: (2 * x + 1) / (2 * np.sqrt(x * x + x)),
    ),
    "a power": ("c = Greater (x, zero) p = Pow (x, half) y = Where (c, p, zero)", lambda x: 0.5 / np.sqrt(x)),
    "a choice within": (
        "c = Greater (x, zero) l = Log (x) d = Greater (x, one) a = Add (l, one) w = Where (d, a, l)"
        " y = Where (c, w, zero)",
        lambda x: 1 / x,
    ),
}  # fmt: skip
"""What is 0 where x is not positive, and its derivative elsewhere."""


@pytest.mark.sweep
@pytest.mark.parametrize("strict_ieee", [False, True])
@pytest.mark.parametrize("name", BODIES)
def test_a_branch_that_is_not_chosen(name: str, strict_ieee: bool):
    body, slope = BODIES[name]
    found = gradc.grad(model(body), reduce="sum", strict_ieee=strict_ieee).run({"x": POINTS})["grad_x"]
    with np.errstate(all="ignore"):
        expected = np.where(POINTS > 0, slope(POINTS.astype(np.float64)), 0)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_an_exponential_that_overflows():
    body = "c = Greater (x, zero) e = Exp (x) s = Sub (e, one) y = Where (c, x, s)"
    found = gradc.grad(model(body), reduce="sum").run({"x": POINTS})["grad_x"]
    np.testing.assert_allclose(found, np.exp(np.minimum(POINTS, 0)), rtol=1e-5)


def test_a_power_by_a_run_time_exponent_of_zero():
    """The transformation of Box and Cox: log x where the exponent is 0, (x^e - 1) / e elsewhere."""
    body = """c = Equal (e, zero) l = Log (x) p = Pow (x, e) d = Sub (p, one) q = Div (d, e)
        y = Where (c, l, q)"""
    for shape, e in (("", np.float32(0)), ("", np.float32(2)), ("[N]", np.array([0, 2, 0.5], np.float32))):
        found = gradc.grad(
            model(body, f"float[N] x, float{shape} e"), wrt=["x", "e"], reduce="sum", check=False
        )
        x = np.array([0.5, 2, 3], np.float32)
        got = found.run({"x": x, "e": e})
        np.testing.assert_allclose(got["grad_x"], x ** (e - 1), rtol=1e-5)
        with np.errstate(all="ignore"):
            by_e = np.where(e == 0, 0, (x**e * (e * np.log(x) - 1) + 1) / e**2)
        wanted = by_e if np.ndim(e) else by_e.sum()
        np.testing.assert_allclose(got["grad_e"], wanted, rtol=1e-4)


def test_second_derivatives():
    body = "c = Greater (x, zero) l = Log (x) y = Where (c, l, zero)"
    found = gradc.hvp(model(body), reduce="sum")
    got = found.run({"x": POINTS, "tangent_x": np.ones_like(POINTS)})["hvp_x"]
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(got, np.where(POINTS > 0, -1 / POINTS**2, 0), rtol=1e-5)


@pytest.mark.parametrize(
    "body",
    [
        "c = Greater (x, zero) p = Mul (x, x) y = Where (c, p, zero)",
        "c = Greater (x, zero) p = Div (x, half) y = Where (c, p, zero)",
        "c = Greater (x, zero) a = Abs (x) n = Neg (a) p = Exp (n) y = Where (c, p, zero)",
    ],
)
def test_a_branch_that_is_finite_everywhere_stays(body: str):
    names = [node.op_type for node in gradc.grad(model(body), reduce="sum").model.graph.node]
    assert "Where" not in names


ANGLE = {
    "TorchScript": """q = Div (y, x) t = Atan (q) pi = Constant <value_float = 3.1415927> ()
        p = Greater (y, zero) a = Add (t, pi) s = Sub (t, pi) w = Where (p, a, s) n = Less (x, zero)
        z = Where (n, w, t)""",
    "without quadrants": "q = Div (y, x) z = Atan (q)",
}


def test_an_angle():
    """(x, -y) / (x^2 + y^2), also on the axes, far away and close to the origin, where it is 0."""
    points = np.array([[0, 1], [0, -1], [1, 0], [-2, 0], [3, -4], [-3, 4], [0, 0], [1e25, 0], [0, 1e-25],
                       [1e25, -1e25], [1e-25, 1e-25]], np.float32)  # fmt: skip
    y, x = points.astype(np.float64).T
    square = np.where(x * x + y * y > 0, x * x + y * y, 1)
    head = '<ir_version: 8, opset_import: ["": 18]>'
    for body in ANGLE.values():
        text = f"{head} g (float[N] y, float[N] x) => (float[N] z) {{ {CONSTANTS} {body} }}"
        for strict_ieee in (False, True):
            found = gradc.grad(
                onnx.parser.parse_model(text),
                wrt=["y", "x"],
                reduce="sum",
                check=False,
                strict_ieee=strict_ieee,
            )
            got = found.run({"y": points[:, 0], "x": points[:, 1]})
            np.testing.assert_allclose(got["grad_y"], x / square, rtol=1e-5)
            np.testing.assert_allclose(got["grad_x"], -y / square, rtol=1e-5)


def test_an_angle_is_summed_over_what_is_repeated():
    text = """<ir_version: 8, opset_import: ["": 18]> g (float[3, 1] y, float[4] x) => (float[3, 4] z)
        { q = Div (y, x) z = Atan (q) }"""
    y, x = np.array([[0], [1], [-2]], np.float32), np.array([0, 1, -1, 4], np.float32)
    got = gradc.grad(onnx.parser.parse_model(text), wrt=["y", "x"], reduce="sum").run({"y": y, "x": x})
    square = np.where(x * x + y * y > 0, x * x + y * y, 1)
    np.testing.assert_allclose(got["grad_y"], (x / square).sum(1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(got["grad_x"], (-y / square).sum(0), rtol=1e-5, atol=1e-7)


def test_the_angle_of_a_reciprocal():
    found = gradc.grad(model("r = Reciprocal (x) y = Atan (r)"), reduce="sum", check=False)
    x = np.array([0, 1, -2], np.float32)
    np.testing.assert_allclose(found.run({"x": x})["grad_x"], -1 / (1 + x**2), rtol=1e-6)


def test_a_quotient_that_is_differentiated_by():
    text = """<ir_version: 8, opset_import: ["": 18]> g (float[N] y, float[N] x) => (float[N] z)
        { q = Div (y, x) z = Atan (q) }"""
    found = gradc.grad(onnx.parser.parse_model(text), wrt="q", reduce="sum", check=False)
    got = found.run({"y": np.float32([2]), "x": np.float32([1])})["grad_q"]
    np.testing.assert_allclose(got, [0.2], rtol=1e-6)


def test_a_mask_larger_than_the_branch():
    """The guarded operand takes the shape of the mask, and so does the branch."""
    text = """<ir_version: 8, opset_import: ["": 18]> g (bool[2, 3] c, float[2, 1] x) => (float[2, 3] y) {
        zero = Constant <value = float {0}> ()
        root = Sqrt(x) inner = Div(x, root)
        y = Where(c, inner, zero)
    }"""
    found = gradc.vjp(onnx.parser.parse_model(text), wrt="x", check=True)
    feeds = {
        "c": np.array([[True, True, False], [False, False, False]]),
        "x": np.array([[4], [0]], np.float32),
    }
    got = found.run({**feeds, "cotangent_y": np.ones((2, 3), np.float32)})["grad_x"]
    np.testing.assert_allclose(got, [[0.5], [0]], rtol=1e-6)
