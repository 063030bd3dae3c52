"""MaxUnpool into a given size: onnxruntime counts places through the result, ONNX's reference through what
pads and strides give. The gradient is that of whatever runs the model."""

from __future__ import annotations

import numpy as np
import onnx.parser
import onnxruntime as ort
import pytest

import gradc

MODEL = """<ir_version: 8, opset_import: ["": 18]>
agraph (float[{sizes}] x, int64[{sizes}] i, int64[4] s) => (float[P,Q,R,S] y) {{
    y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i, s)
}}"""

CASES = [
    ((2, 3, 2, 2), (2, 3, 5, 5)),
    ((1, 1, 3, 2), (1, 1, 6, 4)),
    ((1, 2, 2, 3), (1, 2, 4, 7)),
    ((0, 2, 2, 3), (0, 2, 4, 7)),
]


@pytest.mark.parametrize("names", ["N,C,H,W", "{},{},{},{}"])
@pytest.mark.parametrize(("shape", "made"), CASES, ids=str)
def test_the_places_are_those_of_the_kernel_that_runs(
    shape: tuple[int, ...], made: tuple[int, ...], names: str
):
    model = onnx.parser.parse_model(MODEL.format(sizes=names.format(*shape)))
    rng = np.random.default_rng(0)
    x, g = (rng.normal(size=sizes).astype(np.float32) for sizes in (shape, made))
    places = rng.permutation(g.size)[: x.size].reshape(shape)
    feeds = {"i": places, "s": np.array(made)}
    got = gradc.vjp(model, check=False).run({"x": x, **feeds, "cotangent_y": g})["grad_x"]
    session = ort.InferenceSession(model.SerializeToString())
    numbers = (np.arange(x.size, dtype=np.float32) + 1).reshape(shape)
    (put,) = session.run(None, {"x": numbers, **feeds})
    want = [g[put == number].sum() for number in numbers.ravel()]
    np.testing.assert_allclose(got, np.reshape(want, shape), rtol=1e-6)


def test_numbers_beyond_those_of_f32(monkeypatch: pytest.MonkeyPatch):
    """In two digits, here already of small tensors."""
    monkeypatch.setattr("passes.autodiff.rules.pool._DIGIT", 3)
    test_the_places_are_those_of_the_kernel_that_runs((2, 3, 2, 2), (2, 3, 5, 5), "{},{},{},{}")
