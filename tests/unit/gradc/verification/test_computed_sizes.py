"""Sizes of inputs that the graph computes, such as those of labels for rows that a mask selects."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

import dialects
import gradc
from gradc.verification.computed_sizes import computed_sizes
from gradc.verification.samples import random_inputs

TEXT = """func.func @main(%x: tensor<6x2xf32>, %keep: tensor<6xi1>, %label: tensor<?xf32, ["M"]>)
    -> tensor<?xf32, ["M"]> {
  %rows = onnx.Compress %x, %keep {axis = 0 : i64}
    : (tensor<6x2xf32>, tensor<6xi1>) -> tensor<?x2xf32, ["M", ""]>
  %axes = onnx.Constant dense<1> : tensor<1xi64>
  %sums = onnx.ReduceSum %rows, %axes {keepdims = 0 : i64}
    : (tensor<?x2xf32, ["M", ""]>, tensor<1xi64>) -> tensor<?xf32, ["M"]>
  %y = onnx.Mul %sums, %label : (tensor<?xf32, ["M"]>, tensor<?xf32, ["M"]>) -> tensor<?xf32, ["M"]>
  func.return %y : tensor<?xf32, ["M"]>
}"""

KEEP = np.array([True, False, True, True, False, False])


def module() -> ModuleOp:
    return Parser(dialects.context(), TEXT).parse_module()


def test_the_size_of_a_result_at_a_sample():
    inputs = {"x": np.ones((6, 2), np.float32), "keep": KEEP, "label": np.ones(2, np.float32)}
    assert computed_sizes(module(), inputs) == {"M": 3}


def test_random_inputs_have_that_size():
    found = random_inputs(module(), 0)
    assert found["label"].shape == (found["keep"].sum(),)


def test_a_sample_without_a_value_has_no_size():
    inputs = {"x": np.ones((6, 2), np.float32), "keep": np.ones(9, bool), "label": np.ones(2, np.float32)}
    assert computed_sizes(module(), inputs) == {}


def test_the_check_of_a_step_draws_labels_for_the_rows():
    """The number of rows follows from the mask; no input has it."""
    nodes = [
        helper.make_node("Compress", ["x", "keep"], ["rows"], axis=0),
        helper.make_node("MatMul", ["rows", "w"], ["y"], name="fc"),
    ]
    infos = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [6, 2]),
        helper.make_tensor_value_info("keep", TensorProto.BOOL, [6]),
    ]
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 3])
    w = numpy_helper.from_array(np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32), "w")
    graph = helper.make_graph(nodes, "rows", infos, [y], [w])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    step = gradc.train_step(model, loss=gradc.losses.CrossEntropy(), optimizer=gradc.optim.SGD())
    assert "proved" in str(step.proof)
    assert not [remark for remark in step.remarks if "not checked" in str(remark)]
