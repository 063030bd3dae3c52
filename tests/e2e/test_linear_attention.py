"""Gradients of LinearAttention and CausalConvWithState at run-time sizes: proved, and run by onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import gradc
from gradc.runtime.session import newest_opset

OPSET = 27

CASES = {
    "LinearAttention": (
        {
            "q": (2, 3, 8), "k": (2, 3, 4), "v": (2, 3, 6), "s": (2, 2, 2, 3), "d": (2, 3, 4), "b": (2, 3, 2)
        },
        {"q_num_heads": 4, "kv_num_heads": 2},
        [(None, None, 12), (None, 2, 2, 3)],
    ),
    "CausalConvWithState": (
        {"x": (2, 3, 5), "w": (3, 1, 4), "b": (3,), "s": (2, 3, 3)},
        {"activation": "silu"},
        [(None, 3, None), (None, 3, 3)],
    ),
}  # fmt: skip


@pytest.mark.skipif(newest_opset() < OPSET, reason=f"onnxruntime has no opset {OPSET}")
@pytest.mark.parametrize("name", CASES)
def test_the_gradient_is_proved_and_runs(name: str):
    shapes, attributes, results = CASES[name]
    open_ = {
        n: [None, *shape[1:]] if n in "sx" else [None, None, *shape[2:]] if len(shape) == 3 else shape
        for n, shape in shapes.items()
    } | ({"w": shapes["w"]} if "w" in shapes else {})
    graph = helper.make_graph(
        [helper.make_node(name, list(shapes), ["y", "p"], **attributes)],
        "g",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in open_.items()],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in zip("yp", results, strict=True)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    found = gradc.grad(model, of=["y", "p"], cotangents=True, keep_outputs=["y", "p"], check=True)
    assert not found.remarks
    rng = np.random.default_rng(0)
    inputs = {n: rng.normal(size=shape).astype(np.float32) for n, shape in shapes.items()}
    want = ReferenceEvaluator(model).run(None, inputs)
    cotangents = {f"cotangent_{n}": np.ones_like(value) for n, value in zip("yp", want, strict=True)}
    got = found.run({**inputs, **cotangents})
    for key, value in zip("yp", want, strict=True):
        np.testing.assert_allclose(got[key], value, rtol=1e-4, atol=1e-5)
    for n, value in inputs.items():
        assert got[f"grad_{n}"].shape == value.shape
