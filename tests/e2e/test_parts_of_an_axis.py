"""Sequences of the parts of an axis of which only run time knows how long it is, read in a loop."""

from __future__ import annotations

import numpy as np
import onnx.parser
import onnxruntime as ort
import pytest

import gradc

MODEL = """<ir_version: 8, opset_import: ["": 17]>
agraph (float[n,t,2] x) => (float[n,{kept}2] y) {{
    yes = Constant <value = bool {{1}}> ()
    {split}
    count = SequenceLength(parts)
    zero = Constant <value = int64 {{0}}> ()
    first = SequenceAt(parts, zero)
    y = Loop <body = step (int64 i, bool going, float[n,{kept}2] h) => (still, next) {{
        still = Identity(going)
        one = Constant <value = int64 {{1}}> ()
        back = Sub(zero, i)
        place = Sub(back, one)
        part = SequenceAt(parts, place)
        s = {of}(part)
        next = Mul(h, s)
    }}> (count, yes, first)
}}"""
SPLITS = {
    "each": ("parts = SplitToSequence <axis = 1, keepdims = 0> (x)", "", "Sin"),
    "one": ("k = Constant <value = int64 {1}> () parts = SplitToSequence <axis = -2> (x, k)", "1,", "Sin"),
    "one, single": (
        "k = Constant <value = int64 {1}> () parts = SplitToSequence <axis = 1, keepdims = 0> (x, k)",
        "",
        "Sin",
    ),
    "two": (
        "k = Constant <value = int64 {2}> () all = SplitToSequence <axis = 1> (x, k) parts = Identity(all)",
        "2,",
        "Cos",
    ),
}


@pytest.mark.parametrize("kind", SPLITS)
def test_parts_are_read_by_their_places(kind: str):
    split, kept, of = SPLITS[kind]
    model = onnx.parser.parse_model(MODEL.format(split=split, kept=kept, of=of))
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(0)
    x, way = rng.uniform(0.5, 1.5, (3, 4, 2)).astype(np.float32), rng.standard_normal((3, 4, 2))

    def along(step: float) -> np.ndarray:
        return np.asarray(session.run(None, {"x": (x + step * way).astype(np.float32)})[0], np.float64)

    cotangent = rng.standard_normal(along(0.0).shape).astype(np.float32)
    compiled = gradc.vjp(model, wrt="x", check=True)
    assert not [remark for remark in compiled.remarks if "gradient" in remark.message]
    found = compiled.run({"x": x, "cotangent_y": cotangent})["grad_x"]
    slope = np.vdot(along(1e-2) - along(-1e-2), cotangent) / 2e-2
    assert np.vdot(found, way) == pytest.approx(slope, rel=1e-2, abs=1e-3)
    np.testing.assert_allclose(gradc.compile(model).reference({"x": x})["y"], along(0.0), rtol=1e-5)


def test_the_value_comes_with_the_gradient_by_default():
    """The result has no rank before the sequence is unpacked."""
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        agraph (float[n,t,2] x) => (float[n,1,2] y) {
            parts = SplitToSequence <axis = 1> (x)
            zero = Constant <value = int64 {0}> ()
            first = SequenceAt (parts, zero)
            y = Sin (first)
        }""")
    x = np.random.default_rng(0).standard_normal((3, 5, 2)).astype(np.float32)
    found = gradc.value_and_grad(model, reduce="sum").run({"x": x})
    assert list(found) == ["y", "grad_x"]
    np.testing.assert_allclose(found["y"], np.sin(x[:, :1]), rtol=1e-6)


JOINED = {
    "parts": ("(x)", "<axis = 1>", "float[n,t,2] y", (0, 1, 2)),
    "parts of two": ("(x, two)", "<axis = -2>", "float[n,t,2] y", (0, 1, 2)),
    "elements": ("<keepdims = 0> (x)", "<axis = 1, new_axis = 1>", "float[n,t,2] y", (0, 1, 2)),
    "elements, first": ("<keepdims = 0> (x)", "<axis = 0, new_axis = 1>", "float[t,n,2] y", (1, 0, 2)),
    "elements, last": ("<keepdims = 0> (x)", "<axis = -1, new_axis = 1>", "float[n,2,t] y", (0, 2, 1)),
}


@pytest.mark.parametrize("kind", JOINED)
def test_parts_are_put_together_again(kind: str):
    split, concat, result, order = JOINED[kind]
    split = f"SplitToSequence <axis = 1{', ' + split[1:] if split[0] == '<' else '> ' + split}"
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17]>
        agraph (float[n,t,2] x) => ({result}) {{
            two = Constant <value = int64 {{2}}> ()
            parts = {split}
            all = ConcatFromSequence {concat} (parts)
            y = Sin (all)
        }}""")
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    x = np.random.default_rng(0).standard_normal((3, 5, 2)).astype(np.float32)
    found = gradc.value_and_grad(model, reduce="sum").run({"x": x})
    np.testing.assert_allclose(found["y"], np.asarray(session.run(None, {"x": x})[0]), rtol=1e-6)
    np.testing.assert_allclose(found["y"], np.sin(x).transpose(order), rtol=1e-6)
    np.testing.assert_allclose(found["grad_x"], np.cos(x), rtol=1e-5)
