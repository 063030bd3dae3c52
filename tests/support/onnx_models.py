"""ONNX models from a few lines of text, and what onnxruntime makes of them."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import parser

from dialects.support.dtypes import by_number, of_numpy

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
    """The results; those of a type that the runtime has no arrays of as their bytes."""
    session = session_of(model)
    infos = {value.name: value for value in session.get_inputs()}
    given = {name: feeds[name] for name in infos}
    edge = (*infos.values(), *session.get_outputs())
    if not all(value.type.startswith("tensor(") and value.type != "tensor(string)" for value in edge):
        return list(session.run(None, given))
    values = {name: _ort_value(np.asarray(value)) for name, value in given.items()}
    outputs = [value.name for value in session.get_outputs()]
    return [_array(value) for value in session.run_with_ort_values(outputs, values)]


def _ort_value(array: np.ndarray) -> Any:
    """NotImplementedError for a type of which a byte holds several: no array of numpy does."""
    array, dtype = np.asarray(array, order="C"), of_numpy(array.dtype)
    assert dtype is not None
    if array.dtype.isbuiltin == 1:
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)
    if dtype.name in PACKED:
        raise NotImplementedError(dtype.name)
    data = array.view({1: np.uint8, 2: np.uint16}[array.dtype.itemsize])
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(data, dtype.number)


PACKED = {"s2": 4, "u2": 4, "s4": 2, "u4": 2, "f4_e2m1": 2}
"""How many elements a byte has."""


def _array(value: Any) -> np.ndarray:
    dtype = by_number(value.element_type())
    assert dtype is not None
    if dtype.numpy.isbuiltin == 1:
        return value.numpy()
    count = int(np.prod(value.shape()))
    size = -(-count // PACKED[dtype.name]) if dtype.name in PACKED else count * dtype.numpy.itemsize
    return np.frombuffer(ctypes.string_at(value.data_ptr(), size) if size else b"", np.uint8)


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
