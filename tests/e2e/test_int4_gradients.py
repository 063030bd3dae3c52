"""Gradients beside integers of four bits, for which onnxruntime has few kernels."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from onnx import parser

import gradc


@pytest.mark.parametrize("dtype", ["uint4", "int4"])
@pytest.mark.parametrize(
    ("size", "attributes"), [((1,), ""), ((4,), "<axis = 0>"), ((4, 3), "<axis = 1, block_size = 2>")]
)
def test_scales_beside_zero_points_of_four_bits(dtype: str, size: tuple[int, ...], attributes: str):
    """For which there is no Squeeze, Unsqueeze or Expand."""
    sizes = list(size)
    model = parser.parse_model(f"""<ir_version: 10, opset_import: ["": 21]>
        g ({dtype}[4, 6] x, float{sizes} s, {dtype}{sizes} z) => (float[4, 6] y) {{
        y = DequantizeLinear {attributes} (x, s, z) }}""")
    rng, codes = np.random.default_rng(0), getattr(ml_dtypes, dtype)
    x, z = rng.integers(0, 7, (4, 6)).astype(codes), rng.integers(0, 7, size).astype(codes)
    cotangent = rng.standard_normal((4, 6)).astype(np.float32)
    given = {"x": x, "s": np.ones(size, np.float32), "z": z, "cotangent_y": cotangent}
    found = gradc.vjp(model, wrt="s", check=True).run(given)["grad_s"]
    zeros = z.astype(np.float32).reshape(*size, *[1] * (2 - len(size)))
    if len(size) == 2:
        zeros = np.repeat(zeros, 2, axis=1)
    terms = cotangent * (x.astype(np.float32) - zeros)
    parts = {1: (1, 24), 4: (4, 6), 12: (12, 2)}
    np.testing.assert_allclose(found, terms.reshape(parts[z.size]).sum(1).reshape(size), rtol=1e-5)
