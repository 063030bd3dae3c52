"""Conversion of MLIR types, tensors and attributes to ONNX protobuf messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx
from onnx import AttributeProto, SparseTensorProto, TensorProto, TypeProto
from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    StringAttr,
    TensorType,
    UnrankedTensorType,
)
from xdsl.ir import Attribute

from dialects.onnx.attributes import text_bytes, to_python
from dialects.onnx.tensor_attributes import SparseTensorAttr, StringTensorAttr
from dialects.onnx.types import MapType, OptionalType, SequenceType, SparseTensorType
from dialects.support import dense, dtypes, shapes
from gradc.model.tensors import onnx_number


def type_proto(type_: Attribute) -> TypeProto:
    match type_:
        case SequenceType():
            return onnx.helper.make_sequence_type_proto(type_proto(type_.element))
        case OptionalType():
            return onnx.helper.make_optional_type_proto(type_proto(type_.element))
        case MapType():
            return onnx.helper.make_map_type_proto(_element_type(type_.key), type_proto(type_.value))
        case SparseTensorType(dense=TensorType() | UnrankedTensorType() as whole):
            return onnx.helper.make_sparse_tensor_type_proto(_element_type(whole.element_type), _shape(whole))
        case TensorType() | UnrankedTensorType():
            return onnx.helper.make_tensor_type_proto(_element_type(type_.element_type), _shape(type_))
        case _:
            raise AssertionError(f"type {type_} has no ONNX type")


def _shape(type_: TensorType | UnrankedTensorType) -> shapes.NamedShape | None:
    return shapes.dim_names(shapes.shape_of(type_)) if isinstance(type_, TensorType) else None


def _element_type(type_: Attribute) -> int:
    return onnx_number(dtypes.known_dtype(type_).name)


def raw_data(value: DenseIntOrFPElementsAttr) -> tuple[int, bytes]:
    """Return the TensorProto.DataType and the raw_data of a constant, without a copy if possible.

    ONNX's raw_data is little-endian, as numpy's on all supported hosts.
    """
    array = dense.to_numpy(value)
    dtype = dtypes.known_dtype(array.dtype)
    number, own = onnx_number(dtype.name), value.data.data
    if dtype.name in _PACKED:
        return number, onnx.numpy_helper.from_array(array).raw_data
    return number, own if array.nbytes == len(own) and dtype.name != "boolean" else array.tobytes()


def _fill_dense(tensor: TensorProto, value: DenseIntOrFPElementsAttr) -> None:
    tensor.data_type, tensor.raw_data = raw_data(value)
    tensor.dims.extend(value.type.get_shape())


_PACKED = ("s2", "u2", "s4", "u4", "f4_e2m1", "f6_e2m3", "f6_e3m2")
"""Types of fewer than 8 bits, which are packed."""


def fill_attribute(proto: AttributeProto, kind: str, value: Attribute) -> None:
    """Set an attribute as of a kind, which distinguishes empty lists and integral floats. Graphs are set
    elsewhere."""
    proto.type = getattr(AttributeProto, kind)
    match kind:
        case "INT":
            proto.i = _integer(value)
        case "FLOAT":
            proto.f = _number(value)
        case "INTS":
            proto.ints.extend(map(int, _numbers(value)))
        case "FLOATS":
            proto.floats.extend(map(float, _numbers(value)))
        case "STRING":
            proto.s = _text(value)
        case "TENSOR":
            _fill_tensor(proto.t, value)
        case "SPARSE_TENSOR":
            _fill_sparse(proto.sparse_tensor, value)
        case "TYPE_PROTO":
            proto.tp.CopyFrom(type_proto(value))
        case _:
            assert isinstance(value, ArrayAttr), f"attribute {proto.name} of kind {kind}"
            _fill_list(proto, kind, list(value))


def _fill_list(proto: AttributeProto, kind: str, values: Sequence[Attribute]) -> None:
    match kind:
        case "STRINGS":
            proto.strings.extend(map(_text, values))
        case "TENSORS":
            for value in values:
                _fill_tensor(proto.tensors.add(), value)
        case "SPARSE_TENSORS":
            for value in values:
                _fill_sparse(proto.sparse_tensors.add(), value)
        case "TYPE_PROTOS":
            proto.type_protos.extend(map(type_proto, values))
        case _:
            raise AssertionError(f"attribute {proto.name} of kind {kind}")


def _integer(value: Attribute) -> int:
    """Return an integer, or the number of an element type."""
    found = to_python(value)
    if isinstance(found, Attribute):
        return _element_type(found)
    assert isinstance(found, int), value
    return found


def _number(value: Attribute) -> float:
    found: Any = to_python(value)
    return float(found)


def _numbers(value: Attribute) -> list[Any]:
    found = to_python(value)
    assert isinstance(found, list), value
    return found


def _text(value: Attribute) -> bytes:
    assert isinstance(value, StringAttr | BytesAttr), value
    return text_bytes(value)


def _fill_tensor(tensor: TensorProto, value: Attribute) -> None:
    if isinstance(value, StringTensorAttr):
        tensor.data_type = TensorProto.STRING
        tensor.dims.extend(value.type.get_shape())
        tensor.string_data.extend(map(text_bytes, value.values))
        return
    assert isinstance(value, DenseIntOrFPElementsAttr), value
    _fill_dense(tensor, value)


def _fill_sparse(tensor: SparseTensorProto, value: Attribute) -> None:
    assert isinstance(value, SparseTensorAttr), value
    tensor.dims.extend(value.type.get_shape())
    _fill_dense(tensor.values, value.values)
    _fill_dense(tensor.indices, value.indices)
