"""Non-tensor ONNX types: `!onnx.seq<T>`, `!onnx.opt<T>`, `!onnx.map<K, T>`, `!onnx.sparse_tensor<T>`.

The word of a type is a dtype for a tensor (`f32`), or `seq(f32)`, `optional(f32)`, `optional(seq(f32))`. Maps
and sparse tensors have none: no op of the standard domain accepts them.
"""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, UnrankedTensorType
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition

from dialects.support.dtypes import StringType, by_name, name_of, of_mlir
from dialects.support.memo import by_identity
from dialects.support.shapes import dim_names, shape_of, show

__all__ = [
    "MapType",
    "OptionalType",
    "SequenceType",
    "SparseTensorType",
    "StringType",
    "UnknownType",
    "is_value_type",
    "type_text",
    "unranked_type",
    "word_of",
]


@irdl_attr_definition
class SequenceType(ParametrizedAttribute, TypeAttribute):
    """A sequence of values of one type, usually a tensor type: `!onnx.seq<tensor<?x4xf32>>`."""

    name = "onnx.seq"
    element: Attribute


@irdl_attr_definition
class OptionalType(ParametrizedAttribute, TypeAttribute):
    """An optional value: `!onnx.opt<tensor<4xf32>>`."""

    name = "onnx.opt"
    element: Attribute


@irdl_attr_definition
class MapType(ParametrizedAttribute, TypeAttribute):
    """A map from integers or strings to values of a type: `!onnx.map<i64, tensor<f32>>`."""

    name = "onnx.map"
    key: Attribute
    value: Attribute


@irdl_attr_definition
class SparseTensorType(ParametrizedAttribute, TypeAttribute):
    """A tensor that is stored without its zeros: `!onnx.sparse_tensor<tensor<?x4xf32>>`."""

    name = "onnx.sparse_tensor"
    dense: Attribute


@irdl_attr_definition
class UnknownType(ParametrizedAttribute, TypeAttribute):
    """Type of an opaque node's result for which the model declares none: `!onnx.unknown`."""

    name = "onnx.unknown"


def is_value_type(type_: Attribute) -> bool:
    """Return whether a model's values may have the type."""
    while isinstance(type_, SequenceType | OptionalType | MapType):
        if isinstance(type_, MapType) and of_mlir(type_.key) is None:
            return False
        type_ = type_.value if isinstance(type_, MapType) else type_.element
    if isinstance(type_, UnknownType):
        return True
    tensor = type_.dense if isinstance(type_, SparseTensorType) else type_
    return isinstance(tensor, TensorType | UnrankedTensorType) and of_mlir(tensor.element_type) is not None


@by_identity
def word_of(type_: Attribute) -> str:
    """Return the word of a type, or its MLIR spelling if ONNX has no such type."""
    match type_:
        case TensorType() | UnrankedTensorType():
            return name_of(type_.element_type)
        case SequenceType():
            return f"seq({word_of(type_.element)})"
        case OptionalType():
            return f"optional({word_of(type_.element)})"
        case _:
            return str(type_)


def type_text(type_: Attribute) -> str:
    """Return the type as messages spell it: `f32 [N, 4]`."""
    if isinstance(type_, TensorType):
        return f"{word_of(type_)} {show(dim_names(shape_of(type_)))}"
    return f"{word_of(type_)} of unknown rank" if isinstance(type_, UnrankedTensorType) else word_of(type_)


def without_shape(type_: Attribute) -> Attribute:
    """Return a tensor type without its shape; other types as they are."""
    return UnrankedTensorType(type_.element_type) if isinstance(type_, TensorType) else type_


def unranked_type(word: str) -> Attribute | None:
    """Return the type of a word, with unranked tensors; None for other words."""
    for prefix, wrap in (("seq(", SequenceType), ("optional(", OptionalType)):
        if word.startswith(prefix):
            inner = unranked_type(word[len(prefix) : -1])
            return None if inner is None else wrap(inner)
    dtype = by_name(word)
    return None if dtype is None else UnrankedTensorType(dtype.mlir)
