"""ONNX models from a few lines of text, and what onnxruntime makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import parser

onnxruntime.set_default_logger_severity(4)


def model_of(text: str, opset: int = 18, ir_version: int = 8, **domains: int) -> onnx.ModelProto:
    """The model of a graph in ONNX's text form, `g (float[N] x) => (float[N] y) { y = Relu(x) }`, and of the
    functions behind it."""
    imports = ", ".join(f'"{name}" : {version}' for name, version in {"": opset, **domains}.items())
    return parser.parse_model(f"<ir_version: {ir_version}, opset_import: [{imports}]>\n{text}")


def session_of(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    """Nodes are run as they stand."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def run(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> list[Any]:
    session = session_of(model)
    names = {value.name for value in session.get_inputs()}
    return list(session.run(None, {name: value for name, value in feeds.items() if name in names}))


def edge(model: onnx.ModelProto) -> list[tuple[str, str, Sequence[Any]]]:
    """Name, type and dims of each input and output."""
    session = session_of(model)
    return [(v.name, v.type, v.shape) for v in (*session.get_inputs(), *session.get_outputs())]


def is_same(a: Any, b: Any) -> bool:
    """Whether two results are the same to the last bit; a NaN is as good as another."""
    if isinstance(a, list) or a is None:
        return type(a) is type(b) and (a is None or (len(a) == len(b) and all(map(is_same, a, b))))
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind in "OU":
        return a.tolist() == b.tolist()
    return a.tobytes() == b.tobytes() or (a.dtype.kind in "fc" and np.array_equal(a, b, equal_nan=True))
