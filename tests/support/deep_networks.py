"""Networks of many equal blocks: chains, residual blocks, convolutions with norms, and transformers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

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


def transformer(blocks: int = 2, words: int = 32, length: int = 8, width: int = 32) -> ModelProto:
    """Input tokens [N, length], output logits [N, length, words]: self-attention with four heads, whose
    weights are `block<i>.q`, `.k`, `.v` and `.out`."""
    rng, heads = np.random.default_rng(0), 4
    weights: dict[str, np.ndarray] = {
        "words": rng.standard_normal((words, width)),
        "positions": rng.standard_normal((length, width)) / 4,
    }
    nodes = [node("Gather", ["words", "tokens"], ["e"]), node("Add", ["e", "positions"], ["x0"])]
    for index in range(blocks):
        x, at = f"x{index}", f"block{index}"
        weights[f"{at}.norm"] = 1 + rng.standard_normal(width) / 9
        nodes.append(node("LayerNormalization", [x, f"{at}.norm"], [f"{at}.n"], axis=-1))
        for part in ("q", "k", "v"):
            weights[f"{at}.{part}"] = rng.standard_normal((width, width)) / width**0.5
            perm = [0, 2, 3, 1] if part == "k" else [0, 2, 1, 3]
            own = f"{at}.{part}"
            nodes += [
                node("MatMul", [f"{at}.n", own], [f"{own}.all"]),
                node("Reshape", [f"{own}.all", "split"], [f"{own}.split"]),
                node("Transpose", [f"{own}.split"], [f"{own}.heads"], perm=perm),
            ]
        weights[f"{at}.out"] = rng.standard_normal((width, width)) / width**0.5
        nodes += [
            node("MatMul", [f"{at}.q.heads", f"{at}.k.heads"], [f"{at}.scores"]),
            node("Softmax", [f"{at}.scores"], [f"{at}.shares"], axis=-1),
            node("MatMul", [f"{at}.shares", f"{at}.v.heads"], [f"{at}.mixed"]),
            node("Transpose", [f"{at}.mixed"], [f"{at}.moved"], perm=[0, 2, 1, 3]),
            node("Reshape", [f"{at}.moved", "join"], [f"{at}.joined"]),
            node("MatMul", [f"{at}.joined", f"{at}.out"], [f"{at}.o"]),
            node("Add", [x, f"{at}.o"], [f"x{index + 1}"]),
        ]
    weights["head"] = rng.standard_normal((width, words)) / width**0.5
    nodes.append(node("MatMul", [f"x{blocks}", "head"], ["logits"]))
    sizes = {"split": [0, length, heads, width // heads], "join": [0, length, width]}
    return _model_of(
        nodes,
        helper.make_tensor_value_info("tokens", TensorProto.INT64, ["N", length]),
        helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", length, words]),
        {name: array.astype(np.float32) for name, array in weights.items()}
        | {name: np.array(size, np.int64) for name, size in sizes.items()},
    )


def _model(
    nodes: Sequence[NodeProto],
    x: Sequence[int | str],
    y: Sequence[int | str],
    weights: Mapping[str, np.ndarray],
) -> ModelProto:
    return _model_of(
        nodes,
        helper.make_tensor_value_info("x", TensorProto.FLOAT, x),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, y),
        {name: array.astype(np.float32) for name, array in weights.items()},
    )


def _model_of(
    nodes: Sequence[NodeProto], x: ValueInfoProto, y: ValueInfoProto, weights: Mapping[str, np.ndarray]
) -> ModelProto:
    stored = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "network", [x], [y], stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
