"""Fourier transforms of lengths that are no powers of two, of which onnxruntime loses some digits."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import pytest

import gradc
from gradc.compiler.driver import load
from gradc.verification.transforms import PER_POINT, lost_in_transforms


def spectrum(attributes: str = "", length: str = "", axis: str = "") -> onnx.ModelProto:
    text = f"""<ir_version: 9, opset_import: ["": 20]>
    g (float[1, L, 2] x, float[1, L, 2] w) => (float[a, b, c] y)
    <int64 n = {{30}}, int64 one = {{1}}> {{ s = Mul (x, w) y = DFT {attributes} (s{length}{axis}) }}"""
    return onnx.parser.parse_model(text)


@pytest.mark.parametrize("points", [1024, 1600, 5000])
def test_a_gradient_of_many_points_is_right(points: int) -> None:
    source = spectrum()
    source.graph.input[0].type.tensor_type.shape.dim[1].dim_value = points
    source.graph.input[1].type.tensor_type.shape.dim[1].dim_value = points
    gradient = gradc.vjp(source, wrt="x", check=True)
    rng = np.random.default_rng(0)
    x, w, g = (rng.normal(size=(1, points, 2)).astype(np.float32) for _ in range(3))
    found = gradient.run({"x": x, "w": w, "cotangent_y": g})["grad_x"]
    back = np.fft.fft(g[..., 0] - 1j * g[..., 1], axis=1)
    wanted = np.stack([back.real, -back.imag], -1) * w
    np.testing.assert_allclose(found, wanted, atol=2e-3 * np.abs(wanted).max())


@pytest.mark.parametrize(
    ("source", "points"),
    [
        (spectrum(), 12),
        (spectrum("<onesided = 1>", ""), 12),
        (spectrum("<inverse = 1>", ", n"), 30),
        (spectrum("", ",", ", one"), 12),
    ],
)
def test_what_is_lost_grows_with_the_points(source: onnx.ModelProto, points: int) -> None:
    shape = (1, 12, 1) if "onesided" in str(source) else (1, 12, 2)
    source.graph.input[0].type.tensor_type.shape.dim[2].dim_value = shape[2]
    source.graph.input[1].type.tensor_type.shape.dim[2].dim_value = shape[2]
    inputs = [np.ones(shape, np.float32)] * 2
    assert lost_in_transforms(load(source), inputs) == points * PER_POINT


def test_nothing_is_lost_of_a_power_of_two() -> None:
    assert lost_in_transforms(load(spectrum()), [np.ones((1, 16, 2), np.float32)] * 2) == 0.0
