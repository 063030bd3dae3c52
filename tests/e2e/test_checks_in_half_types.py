"""Checks of gradients of models in half types, whose constants are rounded where they are computed."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx.parser
import pytest

import gradc

MODEL = """<ir_version: 8, opset_import: ["": 17]>
agraph ({dtype}[N,3] x) => ({dtype}[N,3] y) {{ {body} }}"""
DTYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
BODIES = [
    "r = Exp(c) p = Mul(x, r) y = Tanh(p)",
    "r = Reciprocal(c) s = Sin(x) q = Mul(s, s) y = Mul(q, r)",
    "d = Sqrt(c) r = Neg(d) y = Div(x, r)",
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("wrt", ["x", "c", "r"])
def test_what_is_made_of_constants_is_rounded(body: str, dtype: str, wrt: str):
    model = onnx.parser.parse_model(MODEL.format(dtype=dtype, body=body))
    constant = np.array([0.3, 0.7, 1.1]).astype(DTYPES[dtype])
    model.graph.initializer.append(onnx.numpy_helper.from_array(constant, "c"))
    found = gradc.vjp(model, wrt=wrt, check=True)
    assert not [remark for remark in found.remarks if "gradient" in remark.message]
