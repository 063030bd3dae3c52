"""What a user is told of ways that carry no gradient."""

from __future__ import annotations

import onnx
import pytest

import gradc

PARTLY = {
    "r = Round(x) a = Mul(r, x) b = Round(a) y = Add(b, a)": "Round r and 1 more (it",
    "i = Cast<to = 7>(x) f = Cast<to = 1>(i) y = Add(f, x)": "Cast",
    "m = ArgMax<axis = 0, keepdims = 0>(x) g = Gather(x, m) y = Mul(x, g)": "ArgMax m (indices have",
}
SILENT = {
    "z = Constant<value_float = 0.0>() c = Greater(x, z) n = Neg(x) y = Where(c, x, n)",
    "s = Shape(x) e = ConstantOfShape(s) y = Add(x, e)",
    "r = Round(x) y = Abs(x)",
}


def compiled(body: str) -> gradc.Compiled:
    opsets = '<ir_version: 8, opset_import: ["": 18]>'
    body = f"g (float[3] x) => (float[N] y) {{ {body} }}"
    return gradc.vjp(onnx.parser.parse_model(f"{opsets} {body}"), check=False)


@pytest.mark.parametrize("body", PARTLY)
def test_what_is_left_out_is_told(body: str):
    (found,) = [remark.message for remark in compiled(body).remarks if "is zero" in remark.message]
    assert "part of the gradient of y is zero" in found
    assert PARTLY[body] in found


@pytest.mark.parametrize("body", sorted(SILENT))
def test_nothing_is_told_of_what_chooses_or_is_not_read(body: str):
    assert not [remark.message for remark in compiled(body).remarks if "is zero" in remark.message]


def test_a_way_that_is_constant_between_jumps_is_an_error():
    body = 'y = GridSample<mode = "nearest">(t, x)'
    text = "float[1,1,2,2] t, float[1,2,2,2] x"
    opsets = '<ir_version: 8, opset_import: ["": 16]>'
    model = onnx.parser.parse_model(f"{opsets} g ({text}) => (float[1,1,2,2] y) {{ {body} }}")
    with pytest.raises(gradc.UnsupportedError, match="the gradient of y by x is zero"):
        gradc.vjp(model, wrt="x")
