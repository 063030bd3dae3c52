"""Gradients where a function is NaN, and what reads it replaces NaN: 0, not NaN."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import parser

import gradc

FUNCTIONS = {
    "Pow": ("f = Pow (x, p)", np.array([4, -1, 0.5]), lambda x: 1.5 * np.sqrt(x)),
    "Sqrt": ("f = Sqrt (x)", np.array([4, -1, 0.5]), lambda x: 0.5 / np.sqrt(x)),
    "Acos": ("f = Acos (x)", np.array([0.5, 2, -3]), lambda x: -1 / np.sqrt(1 - x * x)),
    "Asin": ("f = Asin (x)", np.array([0.5, 2, -3]), lambda x: 1 / np.sqrt(1 - x * x)),
    "Acosh": ("f = Acosh (x)", np.array([0.5, 2, 3]), lambda x: 1 / np.sqrt(x * x - 1)),
}
READERS = {
    "at once": ("n = IsNaN (f) y = Where (n, c, f)", 1),
    "scaled": ("s = Mul (f, c) t = Sub (s, f) n = IsNaN (t) y = Where (n, c, t)", 2),
    "also inf": ("i = Equal (f, inf) w = Where (i, c, f) n = IsNaN (w) y = Where (n, c, w)", 1),
}


@pytest.mark.sweep
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("size", ["3", "n"])
def test_nan_that_is_replaced(name: str, reader: str, size: str):
    (function, points, slope), (read, factor) = FUNCTIONS[name], READERS[reader]
    model = parser.parse_model(f"""<ir_version: 8, opset_import: ["": 18]>
        g (float[{size}] x) => (float[{size}] y)
        <float p = {{1.5}}, float c = {{3}}, float one = {{1}}, float zero = {{0}}> {{
        inf = Div (one, zero) {function} {read} }}""")
    x = points.astype(np.float32)
    with np.errstate(invalid="ignore"):
        expected = factor * np.nan_to_num(slope(points))
    found = gradc.grad(model, reduce="sum", check=True).run({"x": x})["grad_x"]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    second = gradc.hvp(model, reduce="sum").run({"x": x, "tangent_x": np.ones_like(x)})["hvp_x"]
    step = 1e-6
    with np.errstate(invalid="ignore"):
        expected = factor * np.nan_to_num(slope(points + step) - slope(points - step)) / (2 * step)
    np.testing.assert_allclose(second, expected, rtol=1e-4)


def test_nan_that_is_read():
    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 18]> g (float[2] x) => (float[2] y)
        <float c = {3}> { f = Sqrt (x) n = IsNaN (f) w = Where (n, c, f) y = Add (w, f) }""")
    found = gradc.grad(model, reduce="sum").run({"x": np.array([1, -1], np.float32)})["grad_x"]
    assert found[0] == 1
    assert np.isnan(found[1])
