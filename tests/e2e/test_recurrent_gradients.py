"""Gradients of LSTM, GRU and RNN on onnxruntime, of sizes that only run time knows: as numpy has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import gradc
from dialects.onnx.recurrence import GATES

FEATURES, HIDDEN = 2, 3
DTYPES = {"f32": (TensorProto.FLOAT, np.float32, 2e-6), "f16": (TensorProto.FLOAT16, np.float16, 4e-3)}


def model_of(op: str, dtype: str, both: bool, **attributes: Any):
    """With lengths and a first state, of a time and a batch that have names."""
    element, numpy, _ = DTYPES[dtype]
    rows, directions, rng = GATES[op] * HIDDEN, 1 + both, np.random.default_rng(0)
    inputs = [("x", element, ["T", "N", FEATURES]), ("lengths", TensorProto.INT32, ["N"])]
    inputs.append(("h", element, [directions, "N", HIDDEN]))
    weights = {
        "w": rng.normal(size=(directions, rows, FEATURES)),
        "r": rng.normal(size=(directions, rows, HIDDEN)),
        "b": rng.normal(size=(directions, 2 * rows)),
    }
    direction = "bidirectional" if both else "reverse"
    names = ["x", "w", "r", "b", "lengths", "h"]
    node = helper.make_node(op, names, ["y", "last"], hidden_size=HIDDEN, direction=direction, **attributes)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(*given) for given in inputs],
        [
            helper.make_tensor_value_info("y", element, None),
            helper.make_tensor_value_info("last", element, None),
        ],
        [numpy_helper.from_array(array.astype(numpy), name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize(
    ("op", "dtype", "both", "attributes"),
    [
        ("RNN", "f32", True, {}),
        ("GRU", "f32", False, {"linear_before_reset": 1}),
        ("GRU", "f16", True, {}),
        ("LSTM", "f32", True, {"clip": 1.5}),
        ("LSTM", "f16", False, {}),
    ],
)
def test_the_gradient_runs(op: str, dtype: str, both: bool, attributes: dict[str, Any]):
    _, numpy, bound = DTYPES[dtype]
    wrt = ["x", "w", "r", "b", "h"]
    found = gradc.vjp(model_of(op, dtype, both, **attributes), wrt=wrt, of=["y", "last"])
    directions, rng = 1 + both, np.random.default_rng(1)
    for steps, batch in ((5, 3), (1, 1)):
        sizes = {
            "x": (steps, batch, FEATURES),
            "h": (directions, batch, HIDDEN),
            "cotangent_y": (steps, directions, batch, HIDDEN),
            "cotangent_last": (directions, batch, HIDDEN),
        }
        feeds = {name: rng.normal(size=size).astype(numpy) for name, size in sizes.items()}
        feeds["lengths"] = rng.integers(1, steps + 1, batch).astype(np.int32)
        got, want = found.run(feeds), found.reference(feeds)
        for name in wrt:
            exact = want[f"grad_{name}"].astype(np.float64)
            assert np.abs(got[f"grad_{name}"] - exact).max() <= bound * max(1, np.abs(exact).max()), name
