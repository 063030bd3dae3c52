"""Small float64 networks whose training has a plain numpy oracle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, helper, numpy_helper

RNG = np.random.default_rng(5)
ARRAYS = {
    "fc1.weight": RNG.normal(size=(4, 5)),
    "fc1.bias": RNG.normal(size=5),
    "fc2.weight": RNG.normal(size=(5, 3)),
}
BATCH = {"x": RNG.normal(size=(6, 4)), "label": RNG.integers(0, 3, 6)}


def network(arrays: Mapping[str, np.ndarray] = ARRAYS, x: str = "x") -> ModelProto:
    """Return two layers: tanh(x W1 + b1) W2."""
    nodes = [
        helper.make_node("Gemm", [x, "fc1.weight", "fc1.bias"], ["a"], "fc1"),
        helper.make_node("Tanh", ["a"], ["h"]),
        helper.make_node("MatMul", ["h", "fc2.weight"], ["y"], "fc2"),
    ]
    return model_of(nodes, {x: ["N", 4]}, {"y": ["N", 3]}, arrays)


def model_of(
    nodes: list[Any], inputs: Mapping[str, Any], outputs: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> ModelProto:
    """Return a checked model of float64 values."""

    def infos(named: Mapping[str, Any]) -> list[Any]:
        return [helper.make_tensor_value_info(n, TensorProto.DOUBLE, shape) for n, shape in named.items()]

    weights = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = helper.make_graph(nodes, "net", infos(inputs), infos(outputs), weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    return model


def loss_of(arrays: Mapping[str, np.ndarray]) -> float:
    """Return the cross entropy of the network on the batch."""
    h = np.tanh(BATCH["x"] @ arrays["fc1.weight"] + arrays["fc1.bias"])
    y = h @ arrays["fc2.weight"]
    y = y - y.max(1, keepdims=True)
    scores = y - np.log(np.exp(y).sum(1, keepdims=True))
    return -scores[np.arange(len(y)), BATCH["label"]].mean()
