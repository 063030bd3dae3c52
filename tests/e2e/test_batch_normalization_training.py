"""onnxruntime writes the running statistics of a BatchNormalization that trains into its operands."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import parser

import gradc

X = np.random.default_rng(0).standard_normal((4, 3, 5)).astype(np.float32)


def fresh(results: str) -> onnx.ModelProto:
    """A layer as it is made: scale and variance are ones, bias and mean zeros."""
    return parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 15]>
    g (float[N,3,5] x) => ({results})
    <float[3] s = {{1, 1, 1}}, float[3] b = {{0, 0, 0}}, float[3] m = {{0, 0, 0}},
     float[3] v = {{1, 1, 1}}> {{
        y, rm, rv = BatchNormalization <training_mode = 1> (x, s, b, m, v)
    }}""")


@pytest.mark.parametrize("results", ["float[N,3,5] y", "float[N,3,5] y, float[3] rm, float[3] rv"])
@pytest.mark.parametrize("target", ["cpu", "portable", "cuda"])
def test_equal_parameters(target: str, results: str):
    compiled = gradc.compile(fresh(results), target=target)
    mean, variance = X.mean((0, 2)), X.var((0, 2))
    want = [
        (X - mean[:, None]) / np.sqrt(variance[:, None] + 1e-5),
        mean * np.float32(0.1),
        0.9 + variance * 0.1,
    ]
    for _ in range(2):  # and once more, in the same session
        found = compiled.run({"x": X}, ep="cpu")
        for got, expected in zip(found.values(), want, strict=False):
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
