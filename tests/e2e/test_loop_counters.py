"""The number of a step of a Loop, which its body may declare to be a vector of one number."""

from __future__ import annotations

import numpy as np
import onnxruntime as ort
import pytest
from onnx import parser

import gradc


@pytest.mark.parametrize("number", ["[1]", ""])
def test_a_number_that_is_a_vector(number: str):
    """As tf2onnx writes CropAndResize: onnxruntime gives what is declared."""
    start = "Identity (i)" if number else "Unsqueeze (i, none)"
    model = parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17]>
        g (float[4] x) => (float[3, 1] y) {{
        yes = Constant <value = bool {{1}}> ()
        count = Constant <value = int64 {{3}}> ()
        y = Loop <body = step (int64{number} i, bool on) => (still, part) {{
            still = Identity (on)
            none = Constant <value_ints = [0]> ()
            start = {start}
            one = Constant <value_ints = [1]> ()
            end = Add (start, one)
            first = Slice (x, start, end)
            part = Mul (first, first)
        }}> (count, yes) }}""")
    x = np.array([1, -2, 3, 4], np.float32)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {"x": x})
    np.testing.assert_allclose(gradc.compile(model).reference({"x": x})["y"], np.asarray(expected))
    found = gradc.grad(model, reduce="sum", check=True)
    assert not [remark for remark in found.remarks if "could not be" in remark.message]
    assert found.run({"x": x})["grad_x"].tolist() == [2, -4, 6, 0]
