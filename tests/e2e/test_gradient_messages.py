"""What `gradc grad` says of a request or a model that has no gradient: all of it, with names and remedies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import gradc


def model(nodes: Sequence[onnx.NodeProto], **given: Any) -> onnx.ModelProto:
    """Of x of [N, 4] and other inputs; its outputs are y and others."""
    floats = helper.make_tensor_value_info
    inputs = [floats("x", TensorProto.FLOAT, given.get("shape", ["N", 4])), *given.get("inputs", ())]
    outputs = [floats("y", TensorProto.FLOAT, given.get("result", ["N", 4])), *given.get("outputs", ())]
    weights = [numpy_helper.from_array(array, name) for name, array in given.get("weights", {}).items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my.domain", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def refusal(given: onnx.ModelProto, **request: Any) -> str:
    with pytest.raises(gradc.GradcError) as caught:
        gradc.grad(given, **request)
    return str(caught.value)


def test_nodes_without_a_derivative_are_named():
    nodes = [
        helper.make_node("Own", ["x"], ["a"], "first", domain="my.domain"),
        helper.make_node("Own", ["a"], ["y"], "second", domain="my.domain"),
    ]
    assert "no derivative of 2 my.domain.Own (first and second)" in refusal(model(nodes), reduce="sum")


def test_an_op_that_onnx_has_not_is_told_with_what_is_near():
    message = refusal(model([helper.make_node("Rlu", ["x"], ["y"])]), reduce="sum")
    assert '[Rlu "y", node 0] Rlu is not an op of ONNX; did you mean Relu' in message


EMBEDDED = model(
    [
        helper.make_node("Gather", ["table", "ids"], ["e"]),
        helper.make_node("Add", ["e", "x"], ["y"]),
        helper.make_node("ArgMax", ["y"], ["top"], axis=1),
    ],
    inputs=[helper.make_tensor_value_info("ids", TensorProto.INT64, ["N"])],
    outputs=[helper.make_tensor_value_info("top", TensorProto.INT64, ["N", 1])],
    weights={"table": np.ones((10, 4), np.float32)},
)


def test_all_names_that_are_wrong_are_told_at_once():
    message = refusal(EMBEDDED, wrt=["ids", "nope"], of=["top", "yy"], keep_outputs=["q", "ee"]).splitlines()
    assert message == [
        "error: of top: given s64 [N, 1], expected a tensor of floats; the last floats before it are y",
        "error: of: there is no value yy; did you mean y?",
        "error: wrt ids: given s64 [N], expected a tensor of floats; the next floats behind it are e",
        "error: wrt: there is no value nope; gradc inspect --values lists all values",
        "error: keep_outputs: there is no value q; gradc inspect --values lists all values",
        "error: keep_outputs: there is no value ee; did you mean e?",
    ]


def unranked() -> onnx.ModelProto:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])]
    return model(nodes, shape=None, result=None, weights={"w": np.ones((4, 3), np.float32)})


def test_a_rank_that_is_not_known_is_told_with_what_tells_it():
    message = refusal(unranked(), reduce="sum")
    assert "of y: given f32 of unknown rank" in message
    assert "static_shapes sets the shape of x" in message


def test_static_shapes_tell_a_rank():
    found = gradc.grad(unranked(), reduce="sum", static_shapes={"x": [2, 3, 4]})
    assert found.inputs[0].shape == found.outputs[0].shape == (2, 3, 4)
    x = np.ones((2, 3, 4), np.float32)
    np.testing.assert_array_equal(found.run({"x": x})["grad_x"], np.full((2, 3, 4), 3, np.float32))
    assert "inner dims of MatMul" in refusal(unranked(), reduce="sum", static_shapes={"x": [2, 5]})


def test_an_op_of_no_known_type_is_told_as_such():
    nodes = [helper.make_node("Own", ["x"], ["y"], domain="my.domain")]
    message = refusal(model(nodes, result=None), reduce="sum")
    assert "a value_info for the results of my.domain.Own would define it" in message


@pytest.mark.parametrize(("of", "size"), [("y[5,1]", 2), ("y[-3,0]", 2), ("y[1,:]", 1)])
def test_an_element_that_a_run_has_not_is_an_error_and_no_zeros(of: str, size: int):
    found = gradc.grad(model([helper.make_node("Exp", ["x"], ["y"])]), of=of, cotangents=":" in of)
    weights = dict.fromkeys(found.cotangents.values(), np.ones(4, np.float32))
    x = np.zeros((6, 4), np.float32)
    assert np.count_nonzero(found.run({"x": x, **weights})["grad_x"]) == (4 if ":" in of else 1)
    with pytest.raises(gradc.GradcError, match="cannot run the model"):
        found.run({"x": x[:size], **weights})
