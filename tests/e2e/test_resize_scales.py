"""Resize to the nearest position by scales that are no numbers of f32: 1.7, a third."""

from __future__ import annotations

import numpy as np
import onnx.parser
import onnxruntime as ort
import pytest
from onnx import ModelProto

import gradc

MODEL = """<ir_version: 8, opset_import: ["": 19]>
agraph (float[1,1,1,{size}] x) => (float[1,1,1,P] y) <float[4] scales = {{1, 1, 1, {scale}}}> {{
    y = Resize <coordinate_transformation_mode = "{place}", mode = "{mode}", nearest_mode = "{nearest}">
        (x, , scales)
}}"""
SCALES = [(12, 1.1), (30, 1.7), (30, 1.9), (23, 0.7), (33, 1 / 3)]
PLACES = ["half_pixel", "asymmetric", "pytorch_half_pixel", "align_corners", "half_pixel_symmetric"]


def _model(known: bool, size: int, scale: float, **how: str) -> ModelProto:
    return onnx.parser.parse_model(MODEL.format(size=size if known else "W", scale=scale, **how))


def _of_each_element(model: ModelProto, size: int) -> np.ndarray:
    """(size, resized): what onnxruntime makes of each element alone."""
    options = ort.SessionOptions()
    options.log_severity_level = 3  # it declares another size than it gives
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    rows = [session.run(None, {"x": row.reshape(1, 1, 1, size)})[0] for row in np.eye(size, dtype=np.float32)]
    return np.stack([np.asarray(row).ravel() for row in rows])


@pytest.mark.sweep
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(("size", "scale"), SCALES)
@pytest.mark.parametrize("nearest", ["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])
@pytest.mark.parametrize("place", PLACES)
def test_the_element_that_onnxruntime_took(place: str, nearest: str, size: int, scale: float, known: bool):
    model = _model(known, size, scale, place=place, mode="nearest", nearest=nearest)
    matrix = _of_each_element(model, size)
    x = np.random.default_rng(0).standard_normal((1, 1, 1, size)).astype(np.float32)
    cotangent = np.random.default_rng(1).standard_normal((1, 1, 1, matrix.shape[1])).astype(np.float32)
    found = gradc.vjp(model, wrt="x", check=False).run({"x": x, "cotangent_y": cotangent})["grad_x"]
    np.testing.assert_allclose(found.ravel(), matrix @ cotangent.ravel(), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(gradc.compile(model).reference({"x": x})["y"].ravel(), x.ravel() @ matrix)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_the_size_is_a_product_in_f32(mode: str, known: bool):
    """The number of f32 next to 1.9 is less than that."""
    model = _model(known, 30, 1.9, place="asymmetric", mode=mode, nearest="floor")
    x = np.ones((1, 1, 1, 30), np.float32)
    cotangent = np.ones((1, 1, 1, 57), np.float32)
    found = gradc.vjp(model, wrt="x").run({"x": x, "cotangent_y": cotangent})["grad_x"]
    assert found.sum() == pytest.approx(57)


@pytest.mark.sweep
@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
@pytest.mark.parametrize("wanted", ["scales", "sizes"])
@pytest.mark.parametrize("size", ["3", "0", "W"])
def test_a_result_of_no_elements(size: str, wanted: str, mode: str):
    given = {"scales": "float[4] z = {1, 1, 1, 0.1}", "sizes": "int64[4] z = {1, 1, 1, 0}"}[wanted]
    operands = {"scales": "x, , z", "sizes": "x, , , z"}[wanted]
    text = f"agraph (float[1,1,1,{size}] x) => (float[1,1,1,P] y) <{given}>"
    text = f'<ir_version: 8, opset_import: ["": 19]> {text} {{ y = Resize <mode = "{mode}"> ({operands}) }}'
    x = np.ones((1, 1, 1, 0 if size == "0" else 3), np.float32)
    for made in (gradc.grad, gradc.hvp):
        compiled = made(onnx.parser.parse_model(text), reduce="sum")
        fed = {info.name: x for info in compiled.inputs}
        (found,) = compiled.run(fed).values()
        np.testing.assert_array_equal(found, np.zeros_like(x))
