"""Networks of many equal blocks: chains, residual blocks with Dropout, and convolutions with norms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

node = helper.make_node


def chain(layers: int, width: int) -> ModelProto:
    """Input x [N, width], output y: `layers` times Tanh(x w)."""
    rng = np.random.default_rng(0)
    nodes, weights, x = list[NodeProto](), dict[str, np.ndarray](), "x"
    for index in range(layers):
        weights[f"w{index}"] = rng.standard_normal((width, width)) / width**0.5
        last = "y" if index == layers - 1 else f"h{index}"
        nodes += [node("MatMul", [x, f"w{index}"], [f"a{index}"]), node("Tanh", [f"a{index}"], [last])]
        x = last
    return _model(nodes, ["N", width], ["N", width], weights)


def residual(blocks: int, width: int) -> ModelProto:
    """Input x [N, width], output y: `blocks` times x + drop(relu(norm(x) w + b)) v."""
    rng = np.random.default_rng(1)
    nodes, weights, x = list[NodeProto](), {"ratio": np.array(0.25)}, "x"
    for index in range(blocks):
        weights |= {
            f"{index}.scale": np.linspace(0.5, 1.5, width),
            f"{index}.w": rng.standard_normal((width, 2 * width)) / width**0.5,
            f"{index}.b": rng.standard_normal(2 * width) / 8,
            f"{index}.v": rng.standard_normal((2 * width, width)) / width**0.5,
        }
        own = [f"{index}.{name}" for name in ("norm", "a", "h", "r", "d", "o")]
        last = "y" if index == blocks - 1 else f"{index}.y"
        nodes += [
            node("LayerNormalization", [x, f"{index}.scale"], own[:1], axis=-1),
            node("MatMul", [own[0], f"{index}.w"], own[1:2]),
            node("Add", [own[1], f"{index}.b"], own[2:3]),
            node("Relu", own[2:3], own[3:4]),
            node("Dropout", [own[3], "ratio"], own[4:5]),
            node("MatMul", [own[4], f"{index}.v"], own[5:]),
            node("Add", [x, own[5]], [last]),
        ]
        x = last
    return _model(nodes, ["N", width], ["N", width], weights)


def convolutions(layers: int, channels: int, size: int) -> ModelProto:
    """Input x [N, channels, size, size], output y: convolutions with BatchNormalization and Relu, as exported
    for inference."""
    rng = np.random.default_rng(2)
    nodes, weights, x = list[NodeProto](), dict[str, np.ndarray](), "x"
    for index in range(layers):
        weights |= {
            f"{index}.w": rng.standard_normal((channels, channels, 3, 3)) / (3 * channels**0.5),
            f"{index}.scale": np.linspace(0.5, 1.5, channels),
            f"{index}.bias": np.linspace(-0.5, 0.5, channels),
            f"{index}.mean": np.zeros(channels),
            f"{index}.var": np.linspace(0.5, 1.5, channels),
        }
        norm = [f"{index}.{name}" for name in ("scale", "bias", "mean", "var")]
        last = "y" if index == layers - 1 else f"{index}.y"
        nodes += [
            node("Conv", [x, f"{index}.w"], [f"{index}.c"], pads=[1, 1, 1, 1]),
            node("BatchNormalization", [f"{index}.c", *norm], [f"{index}.n"]),
            node("Relu", [f"{index}.n"], [last]),
        ]
        x = last
    shape = ["N", channels, size, size]
    return _model(nodes, shape, shape, weights)


def _model(
    nodes: Sequence[NodeProto],
    x: Sequence[int | str],
    y: Sequence[int | str],
    weights: Mapping[str, np.ndarray],
) -> ModelProto:
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, y)],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
