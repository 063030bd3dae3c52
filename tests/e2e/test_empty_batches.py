"""Models that only say that a batch is there run for an empty one, also where onnxruntime fails on what it
was given: a Reshape with a -1 beside a 0, written or within the ops by which ONNX defines an op."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto
from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
from onnx.numpy_helper import from_array

import gradc


def model(op_type: str, opset: int, shape, constants=(), operands=1, **attributes) -> onnx.ModelProto:
    """Of one op on tensors of one shape, followed by constants."""
    data = [f"x{i}" for i in range(operands)]
    initializers = [from_array(value, f"c{i}") for i, value in enumerate(constants)]
    node = make_node(op_type, [*data, *(each.name for each in initializers)], ["y"], **attributes)
    inputs = [make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in data]
    output = make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = make_graph([node], "g", inputs, [output], initializers)
    return make_model(graph, opset_imports=[make_opsetid("", opset)], ir_version=10)


VECTOR = np.linspace(0.5, 1.5, 4).astype(np.float32)
GROUPS = model("GroupNormalization", 21, ["N", 4, 3, 5], [VECTOR, VECTOR], num_groups=2)
ROWS = model("Reshape", 21, ["N", 4, 3, 5], [np.array([0, 2, -1])])
SAME = model("Reshape", 21, ["N", "T", 6], [np.array([0, -1, 3, 2])])
HEADS = model("Attention", 24, ["N", 5, 8], operands=3, q_num_heads=2, kv_num_heads=2)


@pytest.mark.parametrize("batch", [0, 2])
@pytest.mark.parametrize(
    ("source", "opset"),
    [(GROUPS, 21), (GROUPS, 18), (GROUPS, 17), (ROWS, 21), (SAME, 21), (HEADS, 25)],
    ids=["groups-21", "groups-18", "groups-17", "rows", "same", "heads"],
)
def test_an_empty_batch(source: onnx.ModelProto, opset: int, batch: int):
    if opset > onnx.defs.onnx_opset_version():
        pytest.skip(f"onnx {onnx.__version__} has no opset {opset}")
    given = {"N": batch, "T": 3}
    rng = np.random.default_rng(1)
    inputs = {
        x.name: rng.standard_normal(
            [given.get(dim.dim_param, dim.dim_value) for dim in x.type.tensor_type.shape.dim], np.float32
        )
        for x in source.graph.input
    }
    compiled = gradc.compile(source, opset=opset, threads=1)
    expected = compiled.reference(inputs)["y"]
    np.testing.assert_allclose(compiled.run(inputs)["y"], expected, rtol=1e-5, atol=1e-5)
    gradient = gradc.grad(source, reduce="sum", opset=opset, threads=1)
    for name, value in gradient.run(inputs).items():
        assert value.shape == inputs[name.removeprefix("grad_")].shape


def test_a_sum_of_no_elements_of_known_number():
    """onnxruntime leaves an Expand from 1 to 0 out: then the Pad behind it gives one element too many."""
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 18]>
        g (float[1,8] x) => (float y) <int64[1] a = {3}, int64[1] b = {3}, int64[1] axis = {1}> {
            part = Slice(x, a, b, axis)
            sum = ReduceSum(part)
            other = ReduceSum(x)
            product = Mul(sum, other)
            all = Add(product, other)
            y = ReduceSum <keepdims = 0> (all)
        }""")
    found = gradc.grad(model, check=False).run({"x": np.ones((1, 8), np.float32)})
    np.testing.assert_array_equal(found["grad_x"], np.ones((1, 8)))


@pytest.mark.parametrize("opset", [13, 18, 20])
@pytest.mark.parametrize("target", ["cpu", "portable"])
@pytest.mark.parametrize("batch", [0, "N"])
@pytest.mark.parametrize(("op", "of_none"), [("ReduceMax", False), ("ReduceMin", True)])
def test_the_extreme_of_no_booleans(op: str, of_none: bool, batch: int | str, target: str, opset: int):
    node = make_node(op, ["x", "axes"], ["y"], keepdims=0)
    inputs = [make_tensor_value_info("x", TensorProto.BOOL, [batch, 3])]
    outputs = [make_tensor_value_info("y", TensorProto.BOOL, [3])]
    graph = make_graph([node], "g", inputs, outputs, [from_array(np.array([0]), "axes")])
    source = make_model(graph, opset_imports=[make_opsetid("", 20)], ir_version=10)
    compiled = gradc.compile(source, target=target, opset=opset)
    assert compiled.run({"x": np.zeros((0, 3), bool)})["y"].tolist() == [of_none] * 3
    if batch:
        rows = np.array([[0, 1, 1], [0, 0, 1]], bool)
        expected = rows.all(0) if of_none else rows.any(0)
        assert compiled.run({"x": rows})["y"].tolist() == expected.tolist()
