"""Weights within the bodies of If and Loop, which do not train: a remark."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, helper, numpy_helper

import gradc

RNG = np.random.default_rng(0)


def array(name: str, *shape: int) -> TensorProto:
    return numpy_helper.from_array(RNG.standard_normal(shape).astype(np.float32), name)


def model(*, within: bool) -> ModelProto:
    """Return x w v, or x w in the other branch; `v` is an initializer of the branch or of the graph."""
    value = helper.make_tensor_value_info
    v = [array("v", 3, 3)]
    product = helper.make_node("MatMul", ["h", "v"], ["p"], name="inner")
    same = helper.make_node("Identity", ["h"], ["q"])
    then = helper.make_graph(
        [product], "then", [], [value("p", TensorProto.FLOAT, ["N", 3])], v if within else []
    )
    other = helper.make_graph([same], "else", [], [value("q", TensorProto.FLOAT, ["N", 3])])
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="fc"),
        helper.make_node("If", ["flag"], ["y"], then_branch=then, else_branch=other),
    ]
    inputs = [value("x", TensorProto.FLOAT, ["N", 4]), value("flag", TensorProto.BOOL, [])]
    weights = [array("w", 4, 3), *([] if within else v)]
    graph = helper.make_graph(nodes, "g", inputs, [value("y", TensorProto.FLOAT, ["N", 3])], weights)
    found = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(found)
    return found


def remarks(source: ModelProto, **options: Any) -> list[str]:
    loss, optimizer = gradc.losses.MSE(), gradc.optim.SGD()
    step = gradc.train_step(source, loss=loss, optimizer=optimizer, check=False, **options)
    return [str(one) for one in step.ambiguities if "bodies" in str(one)]


def test_a_weight_of_a_branch_is_a_remark():
    (found,) = remarks(model(within=True))
    assert "which do not train: v" in found


def test_named_parameters_need_no_remark():
    assert remarks(model(within=True), trainable="w") == []


def test_a_weight_around_the_branch_trains():
    assert remarks(model(within=False)) == []
