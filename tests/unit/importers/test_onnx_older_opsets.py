"""Models written in an opset older than their own, where forms of ops are others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.onnx_models import edge, is_same, model_of, run

import gradc

X = np.arange(24, dtype=np.float32).reshape(4, 6)

LOWERED: dict[str, str] = {
    "Shape of some axes": """g (float[N,M] x) => (int64[1] y, int64[1] z) {
        y = Shape <start = -1> (x)
        z = Shape <start = -5, end = 1> (x)
    }""",
    "Shape of no axes": "g (float[N,M] x) => (int64[0] y) { y = Shape <start = 1, end = 0> (x) }",
    "Split in parts": """g (float[N,M] x) => (float[N,A] y, float[N,B] z) {
        y, z = Split <axis = -1, num_outputs = 2> (x)
    }""",
    "Split in unequal parts": """g (float[4,M] x) => (float[2,M] w, float[2,M] y, float[0,M] z) {
        w, y, z = Split <num_outputs = 3> (x)
    }""",
    "Pad of some axes": """g (float[N,M] x, int64[2] p) => (float[N,B] y) <int64[1] a = {-1}, float v = {7}> {
        y = Pad (x, p, v, a)
    }""",
    "Pad of axes in another order": """g (float[N,M] x) => (float[A,B] y)
        <int64[2] a = {1, -2}, int64[4] p = {1, 2, 3, -1}> {
        y = Pad <mode = "edge"> (x, p, , a)
    }""",
}


@pytest.mark.parametrize("target", ["cpu", "portable"])
@pytest.mark.parametrize("name", LOWERED)
def test_the_result_is_that_of_the_model(name: str, target: str):
    model = model_of(LOWERED[name], opset=18)
    found = gradc.compile(model, target=target, opset=13).model
    assert found.opset_import[0].version == 13
    assert edge(found) == edge(model)
    feeds: dict[str, Any] = {"x": X, "p": np.array([2, 1])}
    assert all(map(is_same, run(found, feeds), run(model, feeds)))
