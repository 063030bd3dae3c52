"""Inputs and outputs of a model proto, without importing onnx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dialects.support import dtypes
from gradc.graph.tensors import TensorInfo

if TYPE_CHECKING:
    from onnx import ModelProto, TypeProto, ValueInfoProto

_BY_RUNTIME = {d.onnx: d.name for d in dtypes.ONNX_DTYPES}


def onnx_number(dtype: str) -> int:
    """Return the TensorProto.DataType of a dtype; KeyError for one that gradc does not have."""
    known = dtypes.by_name(dtype)
    if known is None:
        raise KeyError(dtype)
    return known.number


def dtype_of_runtime(word: str) -> str:
    """Convert `tensor(bfloat16)` to `bf16`; unknown types keep onnxruntime's spelling."""
    return _BY_RUNTIME.get(word.removeprefix("tensor(").removesuffix(")"), word)


def input_infos(model: ModelProto) -> list[TensorInfo]:
    """Return the graph's inputs without initializers."""
    weights = {tensor.name for tensor in model.graph.initializer}
    return [_info(value) for value in model.graph.input if value.name not in weights]


def optional_infos(model: ModelProto) -> list[TensorInfo]:
    """Return the graph's optional inputs, whose initializers are their defaults."""
    weights = {tensor.name for tensor in model.graph.initializer}
    return [_info(value) for value in model.graph.input if value.name in weights]


def output_infos(model: ModelProto) -> list[TensorInfo]:
    return [_info(value) for value in model.graph.output]


def _info(value: ValueInfoProto) -> TensorInfo:
    tensor = value.type.tensor_type
    dims = tuple(_dim(dim) for dim in tensor.shape.dim) if tensor.HasField("shape") else None
    return TensorInfo(value.name, _word(value.type), dims)


def _word(type_: TypeProto) -> str:
    """Return the dtype of a tensor, or that of a container: `seq(f32)`, `optional(seq(f32))`."""
    match type_.WhichOneof("value"):
        case "sequence_type":
            return f"seq({_word(type_.sequence_type.elem_type)})"
        case "optional_type":
            return f"optional({_word(type_.optional_type.elem_type)})"
        case "map_type":
            return f"map({_dtype(type_.map_type.key_type)}, {_word(type_.map_type.value_type)})"
        case "sparse_tensor_type":
            return f"sparse({_dtype(type_.sparse_tensor_type.elem_type)})"
        case _:
            return _dtype(type_.tensor_type.elem_type)


def _dtype(number: int) -> str:
    dtype = dtypes.by_number(number)
    return dtype.name if dtype else str(number)


def _dim(dim: Any) -> int | str | None:
    return dim.dim_value if dim.HasField("dim_value") else (dim.dim_param or None)
