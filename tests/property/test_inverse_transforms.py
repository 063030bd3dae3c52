"""Inverse DFT in f64 is right in f64, whatever its length."""

from __future__ import annotations

import numpy as np
import pytest
from support.onnx_models import model_of, run

import gradc


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("size", [6, 7, 8, 100])
def test_inverse(size: int, parts: int):
    x = np.random.default_rng(size).standard_normal((2, size, parts))
    z = x[..., 0] + (1j * x[..., 1] if parts == 2 else 0)
    for length in (size, size + 3):
        text = f"""g (double[B,{size},{parts}] x) => (double[B,{length},2] y)
            <int64 n = {{{length}}}, int64 a = {{1}}> {{ y = DFT <inverse = 1> (x, n, a) }}"""
        (found,) = run(gradc.compile(model_of(text, opset=20)).proto, {"x": x})
        want = np.fft.ifft(z, length, 1)
        np.testing.assert_allclose(found, np.stack([want.real, want.imag], -1), atol=1e-13)


def test_the_gradient_of_a_transform():
    """It is an inverse transform."""
    text = "g (double[5,1] x) => (double[5,2] y) <int64 a = {0}> { y = DFT (x, , a) }"
    gradient = gradc.grad(model_of(text, opset=20), reduce="sum")
    (name,) = gradient.gradients.values()
    np.testing.assert_allclose(
        gradient.run({"x": np.ones((5, 1))})[name].ravel(), [5, 0, 0, 0, 0], atol=1e-14
    )
