"""Pads of some axes become Pads of all axes, so that onnxruntime moves Transposes past them rightly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import gradc


def between_transposes(
    axes: Sequence[int], pads: Sequence[int] | None, mode: str = "constant"
) -> onnx.ModelProto:
    """Transpose, Pad of some axes, Transpose; `pads` are an input without numbers."""
    constants = [numpy_helper.from_array(np.array(axes), "axes")]
    inputs = [helper.make_tensor_value_info("x", 1, ["N", 3, 4])]
    if pads is None:
        inputs.append(helper.make_tensor_value_info("pads", onnx.TensorProto.INT64, [2 * len(axes)]))
    else:
        constants.append(numpy_helper.from_array(np.array(pads), "pads"))
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[1, 2, 0]),
        helper.make_node("Pad", ["t", "pads", "", "axes"], ["p"], mode=mode),
        helper.make_node("Transpose", ["p"], ["y"], perm=[2, 0, 1]),
    ]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", 1, None)], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
@pytest.mark.parametrize(
    ("axes", "pads"), [([0], [1, 2]), ([-1], [1, 0]), ([1, 0], [1, 2, 0, 1]), ([2, 1, 0], [1, 0, 0, 1, 2, 0])]
)
def test_numbers_are_those_of_numpy(axes: list[int], pads: list[int], mode: str):
    x = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
    amounts = [(0, 0)] * 3
    for axis, before, behind in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        amounts[axis] = (before, behind)
    wanted = np.pad(x.transpose(1, 2, 0), amounts, mode=mode).transpose(2, 0, 1)
    compiled = gradc.compile(between_transposes(axes, pads, mode))
    np.testing.assert_array_equal(compiled.run({"x": x})["y"], wanted)
    at_run_time = gradc.compile(between_transposes(axes, None, mode))
    np.testing.assert_array_equal(at_run_time.run({"x": x, "pads": np.array(pads)})["y"], wanted)


def test_dynamic_axes_stay():
    model = between_transposes([0], [1, 2])
    axes = next(array for array in model.graph.initializer if array.name == "axes")
    model.graph.initializer.remove(axes)
    model.graph.input.append(helper.make_tensor_value_info("axes", onnx.TensorProto.INT64, [1]))
    (pad,) = (node for node in gradc.compile(model).model.graph.node if node.op_type == "Pad")
    assert len(pad.input) == 4
