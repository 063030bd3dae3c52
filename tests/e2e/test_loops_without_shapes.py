"""Gradients of loops whose bodies hold an If or a loop and declare no shapes, as scripted models do not."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest
from onnx import GraphProto

import gradc

HEAD = """<ir_version: 8, opset_import: ["": 18]>
agraph (float[n,4] w, int64 steps) => (float[n,4] y) {
    yes = Constant <value = bool {1}> ()
    two = Constant <value = int64 {2}> ()
    y = Loop <body = step (int64 i, bool going, float h) => (bool still, float next) {
        still = Identity(going)
        early = Less(i, two)
"""
IF = """
        r = If (early) <then_branch = low () => (float a) { a = Sin(h) },
            else_branch = high () => (float b) { b = Mul(h, h) }>
        next = Mul(r, w)
    }> (steps, yes, w) }"""
LOOP = """
        r = Loop <body = inner (int64 j, bool on, float g) => (bool more, float made) {
            more = Identity(on)
            soon = Less(j, two)
            made = If (soon) <then_branch = low () => (float a) { s = Sin(g) a = Mul(s, w) },
                else_branch = high () => (float b) { b = Mul(g, h) }>
        }> (two, yes, h)
        next = Add(r, w)
    }> (steps, yes, w) }"""


def _without_shapes(graph: GraphProto) -> None:
    for node in graph.node:
        for attribute in (attribute for attribute in node.attribute if attribute.HasField("g")):
            for value in (*attribute.g.input, *attribute.g.output):
                if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
                    value.type.tensor_type.ClearField("shape")
            _without_shapes(attribute.g)


@pytest.mark.parametrize("steps", [0, 1, 3])
@pytest.mark.parametrize("body", [IF, LOOP], ids=["if", "loop"])
def test_what_a_branch_gives_has_a_shape(body: str, steps: int):
    model = onnx.parser.parse_model(HEAD + body)
    _without_shapes(model.graph)
    w = np.array([[0.3, -0.8, 1.1, 0.5], [-0.2, 0.9, 0.7, -1.2]], np.float32)
    compiled, primal = gradc.vjp(model, wrt="w", check=True), gradc.compile(model)
    cotangent = np.random.default_rng(0).standard_normal(w.shape).astype(np.float32)
    found = compiled.run({"w": w, "steps": np.array(steps), "cotangent_y": cotangent})["grad_w"]
    way = np.random.default_rng(1).standard_normal(w.shape)

    def along(step: float) -> np.ndarray:
        moved = (w + step * way).astype(np.float32)
        return primal.run({"w": moved, "steps": np.array(steps)})["y"].astype(np.float64)

    slope = np.vdot(along(1e-2) - along(-1e-2), cotangent) / 2e-2
    assert np.vdot(found, way) == pytest.approx(slope, rel=1e-2, abs=1e-3)
    assert compiled.proof is not None
    assert not compiled.proof.undecided


def test_a_size_that_is_broadcast_with_a_number():
    """The body declares no rank, and h * w has 3 elements where h has n: one is the other, or 1."""
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[n,2] x, int64 m) => (float y) <float[3,2] w = {1,2,3,4,5,6}> {
            s = Sin(x)
            l = Loop (m, , s) <body = b (int64 i, bool c, float h) => (bool d, float k) {
                d = Identity(c) p = Mul(h, w) k = Sin(p) }>
            y = ReduceSum <keepdims = 0> (l)
        }""")
    body = model.graph.node[1].attribute[0].g
    for value in (body.input[2], body.output[1]):
        value.type.tensor_type.ClearField("shape")
    x = np.random.default_rng(0).normal(size=(3, 2)).astype(np.float32)
    w = np.arange(1.0, 7).reshape(3, 2)
    found = gradc.grad(model, wrt="x").run({"x": x, "m": np.array(1)})["grad_x"]
    np.testing.assert_allclose(found, np.cos(np.sin(x) * w) * w * np.cos(x), rtol=1e-4, atol=1e-5)
