"""The tensors at the edge of a model, read through the fields of the proto: nothing here needs onnx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dialects.support import dtypes
from gradc.graph.tensors import TensorInfo

if TYPE_CHECKING:
    from onnx import ModelProto, TensorProto, ValueInfoProto

_BY_RUNTIME = {d.onnx: d.name for d in dtypes.ONNX_DTYPES}


def onnx_number(dtype: str) -> int:
    """The TensorProto.DataType of a dtype's word; KeyError for a word that gradc does not have."""
    known = dtypes.by_name(dtype)
    if known is None:
        raise KeyError(dtype)
    return known.number


def dtype_of_runtime(word: str) -> str:
    """`tensor(bfloat16)` -> `bf16`; types unknown to gradc keep onnxruntime's spelling."""
    return _BY_RUNTIME.get(word.removeprefix("tensor(").removesuffix(")"), word)


def input_infos(model: ModelProto) -> list[TensorInfo]:
    """The graph's inputs without those that only name an initializer."""
    weights = {tensor.name for tensor in model.graph.initializer}
    return [_info(value) for value in model.graph.input if value.name not in weights]


def output_infos(model: ModelProto) -> list[TensorInfo]:
    return [_info(value) for value in model.graph.output]


def weight(tensor: TensorProto) -> tuple[TensorInfo, np.ndarray]:
    """An initializer of a model that gradc wrote, and its content."""
    dtype = dtypes.by_number(tensor.data_type)
    assert dtype is not None
    info = TensorInfo(tensor.name, dtype.name, tuple(tensor.dims))
    return info, np.frombuffer(tensor.raw_data, dtype.numpy).reshape(tensor.dims)


def _info(value: ValueInfoProto) -> TensorInfo:
    tensor = value.type.tensor_type
    dims = tuple(_dim(dim) for dim in tensor.shape.dim)
    dtype = dtypes.by_number(tensor.elem_type)
    return TensorInfo(value.name, dtype.name if dtype else str(tensor.elem_type), dims)


def _dim(dim: Any) -> int | str | None:
    return dim.dim_value if dim.HasField("dim_value") else (dim.dim_param or None)
