"""Models to train: a perceptron, and a convolutional network with BatchNormalization and Dropout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from onnx import ModelProto, NodeProto, helper, numpy_helper

CLASSES = 3
FLOAT = np.dtype(np.float32)
node = helper.make_node


def perceptron(dtype: np.dtype = FLOAT) -> ModelProto:
    """Input x [N, 4], output logits [N, 3]."""
    rng = np.random.default_rng(0)
    weights = {
        "fc1.weight": rng.standard_normal((4, 16)) / 2,
        "fc1.bias": np.zeros(16),
        "fc2.weight": rng.standard_normal((16, CLASSES)) / 4,
        "fc2.bias": np.zeros(CLASSES),
    }
    nodes = [
        node("MatMul", ["x", "fc1.weight"], ["a"], name="fc1"),
        node("Add", ["a", "fc1.bias"], ["b"]),
        node("Relu", ["b"], ["h"]),
        node("MatMul", ["h", "fc2.weight"], ["c"], name="fc2"),
        node("Add", ["c", "fc2.bias"], ["logits"]),
    ]
    return _model(nodes, ["N", 4], weights, dtype)


def convolutional() -> ModelProto:
    """Input x [N, 2, 8, 8], output logits [N, 3]; in inference form, as exporters write it."""
    rng = np.random.default_rng(1)
    weights = {
        "conv.weight": rng.standard_normal((4, 2, 3, 3)) / 4,
        "bn.weight": np.full(4, 1.5),
        "bn.bias": np.full(4, 0.25),
        "bn.running_mean": np.zeros(4),
        "bn.running_var": np.full(4, 1.25),
        "fc.weight": rng.standard_normal((CLASSES, 4)) / 2,
        "fc.bias": np.linspace(-0.1, 0.1, CLASSES),
    }
    bn = [f"bn.{name}" for name in ("weight", "bias", "running_mean", "running_var")]
    nodes = [
        node("Conv", ["x", "conv.weight"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["c", *bn], ["n"], name="bn"),
        node("Relu", ["n"], ["r"]),
        node("GlobalAveragePool", ["r"], ["p"]),
        node("Flatten", ["p"], ["f"]),
        node("Dropout", ["f", "ratio"], ["d"], name="drop"),
        node("Gemm", ["d", "fc.weight", "fc.bias"], ["logits"], name="fc", transB=1),
    ]
    return _model(nodes, ["N", 2, 8, 8], {**weights, "ratio": np.array(0.25)}, FLOAT)


def _model(
    nodes: Sequence[NodeProto],
    shape: Sequence[int | str],
    weights: Mapping[str, np.ndarray],
    dtype: np.dtype,
) -> ModelProto:
    number = helper.np_dtype_to_tensor_dtype(dtype)
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", number, shape)],
        [helper.make_tensor_value_info("logits", number, ["N", CLASSES])],
        [numpy_helper.from_array(array.astype(dtype), name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def batch_for(shape: Sequence[int], count: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Random samples of a shape, and labels that depend on them."""
    x = np.random.default_rng(seed).standard_normal((count, *shape)).astype(np.float32)
    flat = x.reshape(count, -1)
    return {"x": x, "label": (flat[:, 0] > 0).astype(np.int64) + (flat[:, 1] > 0)}
