"""Files with weights as exporters write them, also with the program of torch's exporter."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIGNATURE = "pkg.torch.export.ExportedProgram.graph_signature"
CALL = "pkg.torch.onnx.fx_node"
SCOPES = "pkg.torch.onnx.name_scopes"


def model(nodes: list[onnx.NodeProto], arrays: dict[str, Any], shape: Any = ("N", 4)) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def node(op: str, given: str, made: str, name: str = "", **attributes: Any) -> onnx.NodeProto:
    inputs = ["" if word == "_" else word for word in given.split()]
    return helper.make_node(op, inputs, made.split(), name=name, **attributes)


def with_program(source: onnx.ModelProto, inputs: dict[str, str], calls: dict[str, tuple[str, str]]) -> Any:
    """The model with the program of torch's exporter: inputs by kind, and call and scopes by node."""
    lines = [
        f"{'p_' if kind == 'PARAMETER' else 'b_'}{target.replace('.', '_')}: {kind} target='{target}'"
        for target, kind in inputs.items()
    ]
    text = "\n".join(["# inputs", *lines, "x: USER_INPUT"])
    source.graph.metadata_props.add(key=SIGNATURE, value=text)
    for one in source.graph.node:
        call, scopes = calls.get(one.name, ("", ""))
        if call:
            head = "%v : [num_users=1] = call_function[target=torch.ops.aten."
            one.metadata_props.add(key=CALL, value=f"{head}{call}, kwargs = {{}})")
            one.metadata_props.add(key=SCOPES, value=scopes)
    return source
