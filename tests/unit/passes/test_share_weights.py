"""Weights that a gradient reads the other way around are in its file once, and its values are the same."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import gradc
from passes import share_weights
from passes.share_weights import BYTES_OF_A_NODE
from passes.targets import TARGETS

RNG = np.random.default_rng(0)
F32 = onnx.TensorProto.FLOAT


def model(node: onnx.NodeProto, x: tuple[str | int, ...], weights: np.ndarray) -> onnx.ModelProto:
    graph = helper.make_graph(
        [node, helper.make_node("Tanh", ["h"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", F32, x)],
        [helper.make_tensor_value_info("y", F32, None)],
        [numpy_helper.from_array(weights, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def weights(*shape: int) -> np.ndarray:
    return (RNG.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)


def product() -> onnx.ModelProto:
    return model(helper.make_node("MatMul", ["x", "w"], ["h"]), ("N", 3, 200), weights(200, 210))


def convolution(kernel: int, sides: int = 1) -> onnx.ModelProto:
    node = helper.make_node("Conv", ["x", "w"], ["h"], pads=[kernel // 2] * 4)
    channels = (256, 192) if kernel == 1 else (96, 112)
    return model(node, ("N", channels[1], 6, 6), weights(*channels, kernel, kernel * sides))


def sizes(value: onnx.ValueInfoProto) -> list[int]:
    """Of all axes but the batch."""
    return [dim.dim_value for dim in value.type.tensor_type.shape.dim[1:]]


def gradient(model: onnx.ModelProto, **given) -> gradc.Compiled:
    return gradc.vjp(model, threads=1, **given)


def kinds(compiled: gradc.Compiled) -> Counter[str]:
    return Counter(node.op_type for node in compiled.model.graph.node)


CASES = {"product": product(), "pointwise": convolution(1), "3x3": convolution(3)}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("target", TARGETS)
def test_the_file_has_them_once(name: str, target: str):
    primal = CASES[name]
    assert gradient(primal, target=target).model.ByteSize() < 1.1 * primal.ByteSize()


@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_two_copies(name: str, monkeypatch: pytest.MonkeyPatch):
    primal = CASES[name]
    once = gradient(primal, check=True)
    monkeypatch.setattr(share_weights, "share", lambda block, target: None)
    twice = gradient(primal)
    assert twice.model.ByteSize() > 1.9 * primal.ByteSize()
    fixed = {value.name: sizes(value) for value in once.model.graph.input}
    for batch in (0, 1, 3):
        feeds = {
            name: RNG.standard_normal([batch, *others]).astype(np.float32) for name, others in fixed.items()
        }
        ours, theirs = once.run(feeds), twice.run(feeds)
        np.testing.assert_allclose(ours["grad_x"], theirs["grad_x"], rtol=1e-4, atol=1e-5)


def test_a_node_costs_more_than_few_bytes():
    small = model(helper.make_node("MatMul", ["x", "w"], ["h"]), ("N", 20), weights(20, 21))
    assert BYTES_OF_A_NODE > 20 * 21 * 4
    assert "Transpose" not in kinds(gradient(small))


def test_other_weights_of_these_sizes_stay():
    other = convolution(1)
    second = np.roll(weights(192, 256, 1, 1), 1)
    other.graph.initializer.append(numpy_helper.from_array(second, "v"))
    other.graph.node[0].output[0] = "a"
    other.graph.node.insert(1, helper.make_node("Conv", ["a", "v"], ["h"]))
    found = kinds(gradc.compile(other, target="cpu"))
    assert found["Conv"] == 2
    assert "Transpose" not in found


def test_strict_numbers_share_them_too():
    assert gradient(product(), strict_ieee=True).model.ByteSize() < 1.1 * product().ByteSize()


def layers(count: int, size: int) -> onnx.ModelProto:
    """Products by matrices, each too small for a Transpose of its own."""
    names = ["x", *(f"h{index}" for index in range(count - 1)), "h"]
    nodes = [helper.make_node("MatMul", [names[i], f"w{i}"], [names[i + 1]]) for i in range(count)]
    found = model(nodes[-1], ("N", size), weights(size, size))
    found.graph.initializer[0].name = f"w{count - 1}"
    for index, node in enumerate(nodes[:-1]):
        found.graph.node.insert(index, node)
        found.graph.initializer.append(numpy_helper.from_array(weights(size, size), f"w{index}"))
    return found


def twice(compiled: gradc.Compiled) -> list[str]:
    return [remark.message for remark in compiled.remarks if "stored twice" in remark.message]


@pytest.mark.parametrize("target", TARGETS)
def test_large_copies_get_one_remark(target: str):
    (message,) = twice(gradient(layers(12, 160), target=target))
    assert message.endswith(": w0, w1, w2, w3 and 8 more; the copies take 1.23 MB of 2.46 MB")


def test_no_or_few_copies_get_no_remark():
    assert not twice(gradc.compile(layers(12, 160)))
    assert not twice(gradient(layers(8, 160)))
    assert not twice(gradient(product()))


def test_copies_that_add_little_get_no_remark():
    large = layers(12, 160)
    large.graph.initializer.append(numpy_helper.from_array(weights(160, 20_000), "v"))
    large.graph.node.append(helper.make_node("MatMul", ["x", "v"], ["z"]))
    large.graph.output.append(helper.make_tensor_value_info("z", F32, None))
    assert not twice(gradient(large, of=["y", "z"]))


@pytest.mark.parametrize("target", TARGETS)
def test_a_weight_that_is_split_into_phases_is_named(target: str):
    """The gradient of a convolution of stride 2 reads the weights of even and odd positions apart."""
    node = helper.make_node("Conv", ["x", "w"], ["h"], strides=[2, 2], pads=[1, 1, 1, 1])
    compiled = gradient(model(node, (1, 192, 28, 28), weights(256, 192, 3, 3)), target=target)
    stored = sum(array.nbytes for array in map(numpy_helper.to_array, compiled.model.graph.initializer))
    assert bool(twice(compiled)) == (stored > 1.5 * 256 * 192 * 9 * 4)
    assert not twice(compiled) or twice(compiled)[0].endswith("w; the copies take 1.77 MB of 3.54 MB")
