"""Types of a model to types of the dialect."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import TensorShapeProto, TypeProto
from xdsl.dialects.builtin import UnrankedTensorType
from xdsl.ir import Attribute

from dialects.onnx.types import MapType, OptionalType, SequenceType, SparseTensorType, UnknownType
from dialects.support import shapes
from dialects.support.diagnostics import violation
from dialects.support.dtypes import by_number
from dialects.support.shapes import DimLike

NO_NAMES = frozenset(("", "?", "None", "-1"))
"""Names that exporters write for unnamed dimensions."""


def check_text(*given: object) -> None:
    """Raise for a name that is not UTF-8; protobuf returns it as bytes."""
    for text in given:
        if not isinstance(text, str):
            raise violation("name", given=text, expected="UTF-8 text")


def type_of(proto: TypeProto, exact: bool = False) -> Attribute:
    """Return the type of a proto; UnknownType if it, or a container's element, is not given.

    `exact` keeps placeholder names such as `?` of dimensions.
    """
    match proto.WhichOneof("value"):
        case "tensor_type":
            return _tensor(proto.tensor_type, exact)
        case "sequence_type":
            element = type_of(proto.sequence_type.elem_type, exact)
            return element if isinstance(element, UnknownType) else SequenceType(element)
        case "optional_type":
            element = type_of(proto.optional_type.elem_type, exact)
            return element if isinstance(element, UnknownType) else OptionalType(element)
        case "map_type":
            key = element_type(proto.map_type.key_type)
            element = type_of(proto.map_type.value_type, exact)
            return element if isinstance(element, UnknownType) else MapType(key, element)
        case "sparse_tensor_type":
            element = _tensor(proto.sparse_tensor_type, exact)
            return element if isinstance(element, UnknownType) else SparseTensorType(element)
        case "opaque_type":
            raise violation("type", given=f"opaque {proto.opaque_type.name}", expected="a type of ONNX")
        case _:
            return UnknownType()


def element_type(number: int) -> Attribute:
    """Return the element type of a TensorProto.DataType."""
    dtype = by_number(number)
    if dtype is None:
        raise violation("element type", given=number, expected="a TensorProto.DataType")
    return dtype.mlir


def _tensor(proto: TypeProto.Tensor | TypeProto.SparseTensor, exact: bool) -> Attribute:
    if proto.elem_type == 0:
        return UnknownType()
    element = element_type(proto.elem_type)
    if not proto.HasField("shape"):
        return UnrankedTensorType(element)
    return shapes.tensor_type(element, _dims(proto.shape, exact))


def _dims(shape: TensorShapeProto, exact: bool) -> Sequence[DimLike]:
    return [_dim(dim, exact) for dim in shape.dim]


def _dim(dim: TensorShapeProto.Dimension, exact: bool) -> DimLike:
    """Return a dimension; old exporters write negative sizes for unknown ones."""
    if dim.HasField("dim_value"):
        return dim.dim_value if dim.dim_value >= 0 else None
    check_text(dim.dim_param)
    if not exact and dim.dim_param in NO_NAMES:
        return None
    return dim.dim_param or None
