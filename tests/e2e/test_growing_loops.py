"""Gradients of loops that make a tensor or a sequence longer in each step."""

from __future__ import annotations

import numpy as np
import onnx.parser
import onnxruntime as ort
import pytest
from onnx import ModelProto

import gradc

MODEL = """<ir_version: 8, opset_import: ["": 17]>
agraph (float[n,2] x, int64 steps) => (y) {{
    yes = Constant <value = bool {{1}}> ()
    {initial}
    scale, parts = Loop <body = step (int64 i, bool going, float[n,2] h, {type} ys) => (still, next, more) {{
        still = Identity(going)
        next = Mul(h, x)
        made = Sin(next)
        {grows}
    }}> (steps, yes, x, start)
    {joined}
}}"""

TENSOR = {
    "type": "float[n,m,k]",
    "initial": "zero = Constant <value_ints = [{axis}]> () start = Unsqueeze(x, zero)",
}
GROWS = """at = Constant <value_ints = [{axis}]> ()
        one = Unsqueeze(made, at)
        more = Concat <axis = {axis}> (ys, one)"""

SEQUENCE = {"type": "seq(float[n,2])", "grows": "more = SequenceInsert(ys, made)"}
JOIN = "y = ConcatFromSequence <axis = {axis}, new_axis = {new}> (parts)"


def _model(kind: str, axis: int) -> ModelProto:
    if kind == "tensor":
        text = {name: part.format(axis=axis) for name, part in {**TENSOR, "grows": GROWS}.items()}
        return _parsed(MODEL.format(**text, joined="y = Identity(parts)"))
    joined = JOIN.format(axis=axis, new=int("stack" in kind))
    initial = "start = SequenceConstruct(x, x)" if "some" in kind else "start = SequenceEmpty <dtype = 1> ()"
    return _parsed(MODEL.format(**SEQUENCE, initial=initial, joined=joined))


def _parsed(text: str) -> ModelProto:
    model = onnx.parser.parse_model(text.replace("=> (y)", "=> (float y)"))
    model.graph.output[0].type.tensor_type.ClearField("shape")
    return model


def _expected(kind: str, axis: int, x: np.ndarray, steps: int) -> tuple[list[np.ndarray], int, bool]:
    """Of the parts by x, elementwise; the axis along which they are put together, and whether it is new."""
    powers = [np.cos(x ** (k + 2)) * (k + 2) * x ** (k + 1) for k in range(steps)]
    first = {
        "tensor": [np.ones_like(x)],
        "some stack": 2 * [np.ones_like(x)],
        "some concat": 2 * [np.ones_like(x)],
    }
    return [*first.get(kind, []), *powers], axis, "concat" not in kind


@pytest.mark.parametrize("steps", [0, 1, 3])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("kind", ["tensor", "stack", "concat", "some stack", "some concat"])
def test_what_each_step_adds_is_differentiated(kind: str, axis: int, steps: int):
    if steps == 0 and kind in ("stack", "concat"):
        pytest.skip("nothing to join, which onnxruntime refuses in the primal, too")
    if kind == "tensor" and axis < 0:
        axis = 2
    x = np.array([[0.3, -0.8], [1.1, 0.5], [-0.2, 0.9]], np.float32)
    parts, along, anew = _expected(kind, axis, x.astype(np.float64), steps)
    join = np.stack if anew else np.concatenate
    derivative = join(parts, along)
    cotangent = np.random.default_rng(steps).standard_normal(derivative.shape).astype(np.float32)
    compiled = gradc.vjp(_model(kind, axis), wrt=["x"], of=["y"], check=False)
    session = ort.InferenceSession(compiled.model.SerializeToString(), providers=["CPUExecutionProvider"])
    feeds = {"x": x, "steps": np.array(steps), "cotangent_y": cotangent}
    (found,) = session.run(None, {i.name: feeds[i.name] for i in session.get_inputs()})
    pieces = np.split(cotangent * derivative, len(parts), along)
    expected = sum(piece.reshape(x.shape) for piece in pieces)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-4, atol=1e-5)


def test_what_is_read_in_the_loop_stays():
    grows = GROWS.format(axis=0) + " size = Size(ys) unused = Identity(size)"
    text = {name: part.format(axis=0) for name, part in TENSOR.items()}
    text["grows"] = grows.replace(
        "one = Unsqueeze(made, at)", "all = ReduceSum(ys) one0 = Unsqueeze(made, at) one = Mul(one0, all)"
    )
    model = _parsed(MODEL.format(**text, joined="y = Identity(parts)"))
    with pytest.raises(gradc.GradcError, match="expected the same in each step"):
        gradc.vjp(model, wrt=["x"], of=["y"], check=False)
