"""GridSample at points outside of the data: numpy and the derivatives mean what onnxruntime computes."""

from __future__ import annotations

import numpy as np
import onnx.parser
import onnxruntime as ort
import pytest

import gradc

MODEL = """<ir_version: 8, opset_import: ["": 20]>
agraph (double[N,C,H,W] x, double[N,P,Q,2] grid) => (double[N,C,P,Q] y) {{
    y = GridSample <mode = "{mode}", padding_mode = "{how}", align_corners = {corners}> (x, grid)
}}"""
STEP = 1e-5


@pytest.mark.sweep
@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("how", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_beyond_the_border(mode: str, how: str, corners: int):
    model = onnx.parser.parse_model(MODEL.format(mode=mode, how=how, corners=corners))
    rng = np.random.default_rng(0)
    feeds = {"x": rng.standard_normal((2, 2, 5, 6)), "grid": rng.uniform(-1.6, 1.6, (2, 4, 3, 2))}
    ways = {name: rng.standard_normal(array.shape) for name, array in feeds.items()}
    cotangent = rng.standard_normal((2, 2, 4, 3))
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])

    def along(step: float) -> np.ndarray:
        moved = {name: array + step * ways[name] for name, array in feeds.items()}
        return np.asarray(session.run(None, moved)[0])

    compiled = gradc.vjp(model, wrt=["x", "grid"], check=False)
    found = compiled.run({**feeds, "cotangent_y": cotangent})
    slope = sum(np.vdot(found[f"grad_{name}"], ways[name]) for name in feeds)
    expected = np.vdot((along(STEP) - along(-STEP)) / (2 * STEP), cotangent)
    assert slope == pytest.approx(expected, rel=1e-6, abs=1e-6)
    meant = gradc.compile(model).reference(feeds)["y"]
    np.testing.assert_allclose(meant, along(0.0), rtol=1e-9, atol=1e-9)


@pytest.mark.sweep
@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("how", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_at_the_edges_and_mirrors(mode: str, how: str, corners: int):
    """Points of whole numbers lie on elements, on the outer edge and where a reflection turns. The result is
    linear in the data, so the gradient by them tells the result."""
    model = onnx.parser.parse_model(MODEL.format(mode=mode, how=how, corners=corners))
    rng = np.random.default_rng(1)
    places = np.stack(np.meshgrid(np.arange(-3.0, 4), np.arange(-3.0, 4)), axis=-1)[None]
    feeds = {"x": rng.standard_normal((1, 2, 5, 6)), "grid": places}
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    result = np.asarray(session.run(None, feeds)[0])
    compiled = gradc.vjp(model, wrt="x", check=False)
    for point in np.ndindex(7, 7):
        cotangent = np.zeros_like(result)
        cotangent[..., *point] = [[1.0, -2.0]]
        slope = np.vdot(compiled.run({**feeds, "cotangent_y": cotangent})["grad_x"], feeds["x"])
        assert slope == pytest.approx(np.vdot(result, cotangent), rel=1e-6, abs=1e-6), places[0][point]
