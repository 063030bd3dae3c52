"""Model files whose initializers can be replaced by writing bytes at known positions."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, TensorProto

from dialects.support import dtypes
from dialects.support.diagnostics import violation
from gradc.files.safetensors import CODES
from gradc.model.protobuf_wire import BYTES, Field, fields
from gradc.model.saving import PROTO_LIMIT, save_model

_GRAPH, _INITIALIZER, _NAME, _RAW_DATA = 7, 5, 8, 9
"""Numbers of protobuf fields: ModelProto.graph, GraphProto.initializer, TensorProto.name and raw_data."""


@dataclass(frozen=True)
class Place:
    """Type and position of an initializer's bytes in a file; `offset` is None for external data."""

    dtype: str
    offset: int | None
    length: int


def save_replaceable(
    model: ModelProto, path: Path, names: Collection[str], limit: int = PROTO_LIMIT
) -> Mapping[str, Place]:
    """Write a model; return the places of the named initializers.

    Raises ValueError for a name that is no initializer of the main graph.
    """
    found = ModelProto()
    found.CopyFrom(model)
    tensors = {one.name: one for one in found.graph.initializer}
    if missing := [name for name in names if name not in tensors]:
        raise ValueError(f"{path.name} has no initializers {missing}")
    for name in names:
        _to_raw_data(tensors[name])
    save_model(found, path, limit)
    places = dict(_places(path))
    return {name: _place(tensors[name], places.get(name)) for name in names}


def load_model(path: Path) -> ModelProto:
    """Return a model with its external data. Raises GradcError for a file that cannot be read."""
    try:
        return onnx.load(os.fspath(path))
    except OSError as error:
        raise violation(f"cannot read {path}: {error.strerror or error}") from error


@dataclass(frozen=True)
class InitializerType:
    """numpy's dtype and the shape of an initializer."""

    dtype: np.dtype
    shape: tuple[int, ...]


def initializer_types(model: ModelProto) -> dict[str, InitializerType]:
    """Return the types of the initializers of the main graph by name."""
    return {
        one.name: InitializerType(onnx.helper.tensor_dtype_to_np_dtype(one.data_type), tuple(one.dims))
        for one in model.graph.initializer
    }


def input_types(model: ModelProto) -> dict[str, dict[str, Any]]:
    """Return numpy's name of the dtype and the shape of each input; unknown sizes are None."""
    types = {value.name: value.type.tensor_type for value in model.graph.input}
    return {
        name: {
            "dtype": onnx.helper.tensor_dtype_to_np_dtype(one.elem_type).name,
            "shape": [
                dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None for dim in one.shape.dim
            ],
        }
        for name, one in types.items()
    }


def with_metadata(model: ModelProto, key: str, text: str) -> ModelProto:
    """Return a copy of a model with an entry of its metadata."""
    found = ModelProto()
    found.CopyFrom(model)
    kept = [entry for entry in found.metadata_props if entry.key != key]
    del found.metadata_props[:]
    found.metadata_props.extend(kept)
    found.metadata_props.add(key=key, value=text)
    return found


def _to_raw_data(tensor: TensorProto) -> None:
    """Store the elements of a tensor as bytes."""
    if not tensor.HasField("raw_data"):
        tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor), tensor.name))


def _place(tensor: TensorProto, data: Field | None) -> Place:
    dtype = dtypes.by_number(tensor.data_type)
    assert dtype is not None
    if 0 in tensor.dims:
        return Place(CODES[dtype.name], 0, 0)
    return Place(CODES[dtype.name], data and data.inside, data.length if data else 0)


def _places(path: Path) -> Iterator[tuple[str, Field]]:
    """Yield the names of the main graph's initializers and the fields of their bytes in the file."""
    with open(path, "rb") as file:

        def inner(outer: Field, number: int) -> Iterator[Field]:
            for one in fields(file, outer.inside, outer.end):
                if (one.number, one.type) == (number, BYTES):
                    yield one

        whole = Field(0, BYTES, 0, 0, path.stat().st_size)
        for graph in inner(whole, _GRAPH):
            for tensor in inner(graph, _INITIALIZER):
                (name,) = inner(tensor, _NAME)
                file.seek(name.inside)
                text = file.read(name.length).decode()
                yield from ((text, data) for data in inner(tensor, _RAW_DATA))
