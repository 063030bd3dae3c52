"""Norms and standard deviations that are 0, as exporters write them: their gradients are 0, as in PyTorch."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import pytest

import gradc

VARIANCE = "m = ReduceMean <axes = [0]> (x) d = Sub (x, m) q = Mul (d, d) v = ReduceMean <axes = [0]> (q)"

BODIES = {
    "std": f"{VARIANCE} y = Sqrt (v)",
    "unbiased std": f"""{VARIANCE} s = Shape (x) z = Constant <value_ints = [0]> () n = Gather (s, z)
        c = Cast <to = 1> (n) o = Constant <value_floats = [1.0]> () k = Sub (c, o)
        p = Mul (v, c) u = Div (p, k) w = Identity (u)
        y = Sqrt (w)""",
    "norm": "two = Constant <value_float = 2.0> () q = Pow (x, two) v = ReduceSum (q) y = Sqrt (v)",
    "norm by a power": """two = Constant <value_float = 2.0> () h = Constant <value_float = 0.5> ()
        q = Pow (x, two) v = ReduceSum (q) y = Pow (v, h)""",
    "sum of squares": "v = ReduceSumSquare <axes = [1]> (x) y = Sqrt (v)",
    "cdist": """n = Neg (x) t = Transpose <perm = [1, 0]> (n) p = MatMul (x, t)
        z = Constant <value_float = 0.0> () b = Max (p, z) y = Sqrt (b)""",
}


def model(body: str) -> onnx.ModelProto:
    head = '<ir_version: 8, opset_import: ["": 17]>'
    found = onnx.parser.parse_model(f"{head} g (float[N, 3] x) => (float y) {{ {body} }}")
    found.graph.output[0].type.tensor_type.ClearField("shape")
    return found


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_a_root_that_is_zero_has_a_gradient_of_zero(body: str) -> None:
    x = np.zeros((4, 3), np.float32)
    first = gradc.grad(model(body), wrt="x", reduce="sum", check=False)
    np.testing.assert_array_equal(first.run({"x": x})["grad_x"], x)
    second = gradc.hvp(model(body), wrt="x", reduce="sum", check=False)
    np.testing.assert_array_equal(second.run({"x": x, "tangent_x": x + 1})["hvp_x"], x)


@pytest.mark.parametrize("body", [body for name, body in BODIES.items() if name != "cdist"])
def test_elsewhere_it_is_what_it_was(body: str) -> None:
    for found in (gradc.grad, gradc.hvp):
        assert not found(model(body), wrt="x", reduce="sum", check=True).remarks


def test_a_root_of_anything_else_is_steep() -> None:
    found = gradc.grad(model("y = Sqrt (x)"), wrt="x", reduce="sum", check=False)
    assert np.isposinf(found.run({"x": np.zeros((1, 3), np.float32)})["grad_x"]).all()
