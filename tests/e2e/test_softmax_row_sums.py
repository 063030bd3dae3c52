"""The sums along the rows of a softmax's cotangent: in attention those of fewer columns are the same."""

from __future__ import annotations

import onnx
import pytest
from onnx import helper
from support.onnx_models import model_of

import gradc

HEADS = "float[2, 2, 5, 3] q, float[2, 2, 3, 6] k, "
NODES = "s = MatMul(q, k) p = Softmax(s) o = MatMul(p, v) y = Tanh(o)"

CASES = {
    "narrow": (HEADS + "float[2, 2, 6, 2] v", NODES, True),
    "narrow, of unknown length": (
        "float[2, 2, T, 3] q, float[2, 2, 3, S] k, float[2, 2, S, 2] v",
        NODES,
        False,
    ),
    "wide": (HEADS + "float[2, 2, 6, 7] v", NODES, False),
    "heads share values": (HEADS + "float[2, 1, 6, 2] v", NODES, True),
    "values of more heads": ("float[2, 1, 5, 3] q, float[2, 1, 3, 6] k, float[2, 2, 6, 2] v", NODES, False),
    "along columns": (HEADS + "float[2, 2, 6, 2] v", NODES.replace("Softmax", "Softmax <axis = 2>"), False),
    "read twice": (
        HEADS + "float[2, 2, 6, 2] v",
        NODES.replace("y = Tanh(o)", "t = ReduceSum <keepdims = 1> (p) y = Add(o, t)"),
        False,
    ),
    "two products": (
        HEADS + "float[2, 2, 6, 2] v",
        NODES.replace("y = Tanh(o)", "w = Tanh(v) r = MatMul(p, w) y = Mul(o, r)"),
        False,
    ),
    "not read": (
        HEADS + "float[2, 2, 6, 2] v",
        NODES.replace("o = MatMul(p, v) y = Tanh(o)", "y = MatMul(p, v)"),
        False,
    ),
}


def model(inputs: str, nodes: str) -> onnx.ModelProto:
    built = model_of(f"g ({inputs}) => (float[B] y) {{ {nodes} }}", 18)
    built.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None))
    return built


@pytest.mark.parametrize("name", CASES)
def test_the_sums_are_of_the_fewer_columns(name: str):
    inputs, nodes, is_narrow = CASES[name]
    found = gradc.value_and_grad(model(inputs, nodes), cotangents=True, check=True)
    assert not found.remarks
    product = next(
        node.output[0] for node in found.model.graph.node if node.op_type == "MatMul" and "v" in node.input
    )
    sums = {name for node in found.model.graph.node if node.op_type == "ReduceSum" for name in node.input[:1]}
    summed = [node for node in found.model.graph.node if node.output[0] in sums and product in node.input]
    assert bool(summed) == is_narrow


@pytest.mark.parametrize("name", CASES)
def test_second_derivatives(name: str):
    inputs, nodes, _ = CASES[name]
    assert not gradc.hvp(model(inputs, nodes), reduce="sum", wrt=["q", "v"], check=True).remarks
