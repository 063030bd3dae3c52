"""A product with a vector behind a Transpose, of which onnxruntime makes one op that is wrong."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest

import gradc


@pytest.mark.sweep
@pytest.mark.parametrize("target", ["cpu", "portable"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("shape", [(4, 2), (3, 4, 2), (2, 3, 4, 2)])
def test_a_transposed_matrix_by_a_vector(shape: tuple[int, ...], dtype: type, target: str):
    word = {np.float32: "float", np.float64: "double", np.float16: "float16"}[dtype]
    rank = len(shape)
    perm = [*range(rank - 2), rank - 1, rank - 2]
    sizes = ",".join("abcd"[:rank])
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 18]>
        g ({word}[{sizes}] x, {word}[k] w) => ({word} y) {{
            t = Transpose <perm = {perm}> (x)
            p = MatMul(t, w)
            s = Mul(p, p)
            y = ReduceSum <keepdims = 0> (s)
        }}""")
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=shape).astype(dtype), rng.normal(size=4).astype(dtype)
    found = gradc.value_and_grad(model, target=target, check=False).run({"x": x, "w": w})
    wide = np.swapaxes(x.astype(np.float64), -1, -2)
    product = wide @ w
    tolerance = 2e-2 if dtype == np.float16 else 1e-4
    np.testing.assert_allclose(found["y"], (product**2).sum(), rtol=tolerance)
    by_w = 2 * (wide * product[..., None]).sum(tuple(range(rank - 1)))
    np.testing.assert_allclose(found["grad_w"], by_w, rtol=tolerance, atol=tolerance * 10)
    by_x = 2 * np.swapaxes(product[..., None] * w, -1, -2)
    np.testing.assert_allclose(found["grad_x"], by_x, rtol=tolerance, atol=tolerance * 10)
