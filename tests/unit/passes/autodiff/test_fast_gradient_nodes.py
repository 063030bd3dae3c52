"""Derivatives are written in the nodes that onnxruntime is quick at."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

import gradc

SLOW: list[tuple[str, str, dict[str, Any], set[str]]] = [
    ("Slice (x, start, end, last, step)", "2,3,8", {"start": 0, "end": 8, "last": 2, "step": 2}, {"Pad"}),
    ("DepthToSpace <blocksize = 2, mode = 'CRD'> (x)", "2,8,3,3", {}, {"Transpose"}),
    ('Pad <mode = "reflect"> (x, pads)', "6,8", {"pads": [1, 1, 1, 1]}, {"Pad"}),
    ('Pad <mode = "edge"> (x, pads)', "6,8", {"pads": [2, 1, 1, 3]}, {"Pad"}),
    *(("Pow (x, p)", "4,5", {"p": np.float32(p)}, {"Pow"}) for p in (1.5, 2.5, 4, 5)),
]


@pytest.mark.parametrize(("node", "shape", "constants", "slow"), SLOW, ids=lambda part: str(part)[:40])
def test_a_derivative_has_no_slow_node(
    node: str, shape: str, constants: dict[str, Any], slow: set[str]
) -> None:
    text = f'<ir_version: 8, opset_import: ["" : 18]> g (float[{shape}] x) => (float y) {{ y = {node} }}'
    model = onnx.parser.parse_model(text.replace("'", '"'))
    for name, value in constants.items():
        array = np.asarray(value) if name == "p" else np.atleast_1d(value)
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    model.graph.output[0].type.tensor_type.ClearField("shape")
    compiled = gradc.grad(model, wrt=["x"], cotangents=True, check=True)
    assert not slow & {node.op_type for node in compiled.model.graph.node}


def test_a_window_with_a_stride_reads_no_step_on_the_last_axis() -> None:
    text = '<ir_version: 8, opset_import: ["" : 18]> g (float[1,32,49,49] x) => (float[1,32,24,24] y) '
    model = onnx.parser.parse_model(text + "{ y = MaxPool <kernel_shape = [3, 3], strides = [2, 2]> (x) }")
    compiled = gradc.grad(model, wrt=["x"], cotangents=True, check=True)
    steps = [node for node in compiled.model.graph.node if node.op_type == "Slice" and len(node.input) == 5]
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in compiled.model.graph.initializer}
    assert all((constants[node.input[4]] == 1).all() for node in steps)
