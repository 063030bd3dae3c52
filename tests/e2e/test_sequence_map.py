"""SequenceMap over as many elements as an axis has at run time."""

from __future__ import annotations

import numpy as np
import onnx.parser
import onnxruntime as ort
import pytest
from onnx import ModelProto

import gradc

MODEL = """<ir_version: 8, opset_import: ["": 17]>
agraph (float[n,t,2] x, float[2] w) => (float[{made}] y) {{
    parts = SplitToSequence <axis = {axis}, keepdims = {kept}> (x)
    {others}
    mapped = SequenceMap ({operands}) <body = one ({arguments}) => (float[{of}] r) {{ {body} }}>
    y = ConcatFromSequence <axis = {joined}, new_axis = {new}> (mapped)
}}"""

SQUARE = {"operands": "parts", "arguments": "float[n,1,2] p", "of": "n,1,2", "body": "r = Mul(p, p)"}
ROW = {"operands": "parts", "arguments": "float[n,2] p", "of": "n,2", "body": "r = Mul(p, p)"}
CASES = {
    "where they were": {**SQUARE, "made": "n,t,2", "axis": 1, "kept": 1, "joined": 1, "new": 0},
    "along another axis": {**SQUARE, "made": "m,1,2", "axis": 1, "kept": 1, "joined": 0, "new": 0},
    "along the last axis": {**SQUARE, "made": "n,1,m", "axis": 1, "kept": 1, "joined": -1, "new": 0},
    "along a new axis": {**SQUARE, "made": "n,1,t,2", "axis": 1, "kept": 1, "joined": 2, "new": 1},
    "along a new last axis": {**ROW, "made": "n,2,t", "axis": 1, "kept": 0, "joined": -1, "new": 1},
    "single, along theirs": {**ROW, "made": "m,2", "axis": 1, "kept": 0, "joined": 0, "new": 0},
    "of fewer axes": {
        "operands": "parts",
        "arguments": "float[n,1,2] p",
        "of": "n",
        "made": "n,t",
        "axis": 1,
        "kept": 1,
        "body": "q = Sin(p) k = Constant <value = int64[2] {1, 2}> () r = ReduceSum<keepdims = 0>(q, k)",
        "joined": 1,
        "new": 1,
    },
    "with others and a tensor": {
        "others": "z = Sin(x) more = SplitToSequence <axis = 1, keepdims = 0> (z)",
        "made": "m,2",
        "axis": 1,
        "operands": "parts, more, w",
        "arguments": "float[n,2] p, float[n,2] q, float[2] v",
        "of": "n,2",
        "body": "s = Mul(p, q) r = Mul(s, v)",
        "kept": 0,
        "joined": 0,
        "new": 0,
    },
    "of several shapes": {
        "others": "minus = Constant <value = int64[1] {-1}> () h = Constant <value = float {1.0}> ()",
        "operands": "parts",
        "arguments": "float[n,1,2] p",
        "of": "a",
        "body": "m = Greater(p, h) l = Reshape(m, minus) s = Compress(p, l) r = Mul(s, s)",
        "made": "a",
        "axis": 1,
        "kept": 1,
        "joined": 0,
        "new": 0,
    },
    "what is around": {
        "operands": "parts",
        "arguments": "float[1,t,2] p",
        "of": "1,t,2",
        "made": "n,t,2",
        "axis": 0,
        "body": "s = Mul(p, p) r = Mul(s, w)",
        "kept": 1,
        "joined": 0,
        "new": 0,
    },
}


def _model(kind: str) -> ModelProto:
    return onnx.parser.parse_model(MODEL.format(**{"others": "", **CASES[kind]}))


@pytest.mark.sweep
@pytest.mark.parametrize("kind", CASES)
def test_against_differences_of_onnxruntime(kind: str):
    model = _model(kind)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(0)
    shapes = {"x": (3, 4, 2), "w": (2,)}
    feeds = {name: rng.uniform(0.5, 1.5, shape).astype(np.float32) for name, shape in shapes.items()}
    ways = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}

    def along(step: float) -> np.ndarray:
        moved = {name: feeds[name] + np.float32(step) * ways[name] for name in feeds}
        return np.asarray(session.run(None, moved)[0], np.float64)

    cotangent = rng.standard_normal(along(0.0).shape).astype(np.float32)
    pulled = gradc.vjp(model, allow_unused=True)
    found = pulled.run({**feeds, "cotangent_y": cotangent})
    slope = np.vdot(along(1e-2) - along(-1e-2), cotangent) / 2e-2
    assert sum(np.vdot(found[f"grad_{name}"], ways[name]) for name in feeds) == pytest.approx(slope, rel=1e-2)
    compiled = gradc.compile(model)
    np.testing.assert_allclose(compiled.reference(feeds)["y"], along(0.0), rtol=1e-5)

    def gradient(step: float) -> float:
        moved = {name: feeds[name] + np.float32(step) * ways[name] for name in feeds}
        again = pulled.run({**moved, "cotangent_y": np.ones_like(cotangent)})
        return sum(np.vdot(again[f"grad_{name}"], ways[name]) for name in feeds)

    second = gradc.hvp(model, reduce="sum", allow_unused=True)
    given = {**feeds, **{f"tangent_{name}": way for name, way in ways.items()}}
    made = second.run({info.name: given[info.name] for info in second.inputs})
    curve = sum(np.vdot(made[f"hvp_{name}"], ways[name]) for name in feeds if f"hvp_{name}" in made)
    assert curve == pytest.approx((gradient(1e-2) - gradient(-1e-2)) / 2e-2, rel=1e-2, abs=1e-2)
