"""Products with expanded matrices read the matrices themselves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import gradc

Sizes = Sequence[int]


def product(
    x: Sequence[object],
    w: Sizes,
    shape: Sizes,
    merged: Sizes | None = None,
    side: int = 1,
    turned: bool = False,
) -> onnx.ModelProto:
    """x @ w, or w @ x, of a `w` that is expanded, and maybe reshaped and transposed."""
    nodes = [helper.make_node("Expand", ["w", "shape"], ["w0"])]
    constants = [numpy_helper.from_array(np.array(shape), "shape")]
    if merged is not None:
        constants.append(numpy_helper.from_array(np.array(merged), "merged"))
        nodes.append(helper.make_node("Reshape", ["w0", "merged"], ["w1"]))
    if turned:
        rank = len(shape if merged is None else merged)
        perm = [*range(rank - 2), rank - 1, rank - 2]
        nodes.append(helper.make_node("Transpose", [nodes[-1].output[0]], ["w2"], perm=perm))
    factors = ["x", nodes[-1].output[0]]
    nodes.append(helper.make_node("MatMul", factors if side else factors[::-1], ["y"]))
    inputs = [helper.make_tensor_value_info(name, 1, sizes) for name, sizes in (("x", x), ("w", w))]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", 1, None)], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def compare(model: onnx.ModelProto, size: int = 4) -> list[str]:
    """Compare with the model as it is, computed with integers; return the ops."""
    random, feeds = np.random.default_rng(0), {}
    for value in model.graph.input:
        shape = [
            dim.dim_value if dim.HasField("dim_value") else size for dim in value.type.tensor_type.shape.dim
        ]
        feeds[value.name] = random.integers(-4, 5, shape).astype(np.float32)
    wanted = ReferenceEvaluator(model).run(None, feeds)[0]
    compiled = gradc.compile(model)
    (found,) = compiled.run(feeds).values()
    assert found.shape == np.shape(wanted)
    np.testing.assert_array_equal(found, wanted)
    return [node.op_type for node in compiled.model.graph.node if node.op_type != "Constant"]


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("w", [(5, 5), (1, 5, 5)])
def test_matrices_of_a_batch_are_not_repeated(w: Sizes, side: int):
    assert compare(product((4, 5, 5), w, (4, 5, 5), side=side)) == ["MatMul"]
    assert compare(product((4, 5, 5), w, (4, 1, 1), side=side)) == ["MatMul"]


@pytest.mark.parametrize("side", [0, 1])
def test_a_transposed_one_is_transposed_itself(side: int):
    x = (4, 3, 6) if side else (4, 5, 3)
    ops = compare(product(x, (1, 5, 6), (4, 5, 6), side=side, turned=True))
    assert ops == ["Transpose", "MatMul"]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("side", [0, 1])
def test_merged_axes_are_separated(side: int, turned: bool):
    ops = compare(product((12, 5, 5), (3, 5, 5), (4, 3, 5, 5), (12, 5, 5), side, turned))
    assert "Expand" not in ops
    assert ops.count("Reshape") == 2


def test_expands_that_the_result_needs_stay():
    assert "Expand" in compare(product((5, 6), (6, 7), (4, 6, 7)))
    assert "Expand" in compare(product((1, 5, 6), (1, 6, 7), (4, 6, 7)))
    assert "Expand" in compare(product((4, 5, 6), (4, 6, 1), (4, 6, 7)))
    assert "Expand" in compare(product((1, 5, 5), (3, 5, 5), (4, 3, 5, 5), (12, 5, 5)))


@pytest.mark.parametrize("size", [0, 1, 3])
def test_a_batch_that_may_be_empty_keeps_its_expand(size: int):
    """onnxruntime 1.31 does not broadcast 1 against 0."""
    model = product(("N", 5, 6), (6, 7), (1, 6, 7))
    nodes = [
        helper.make_node("Shape", ["x"], ["batch"], start=0, end=1),
        helper.make_node("Concat", ["batch", "rest"], ["sizes"], axis=0),
    ]
    model.graph.node[0].input[1] = "sizes"
    for i, node in enumerate(nodes):
        model.graph.node.insert(i, node)
    model.graph.initializer.append(numpy_helper.from_array(np.array([6, 7]), "rest"))
    assert "Expand" in compare(model, size)
