"""Types of ONNX beyond tensors: `!onnx.seq<T>` and `!onnx.opt<T>`; and the word of a type.

A word is a dtype for a tensor (`f32`), or `seq(f32)`, `optional(f32)`, `optional(seq(f32))`.
"""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, UnrankedTensorType
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition

from dialects.support.dtypes import StringType, by_name, name_of
from dialects.support.memo import by_identity

__all__ = ["OptionalType", "SequenceType", "StringType", "unranked", "word_of"]


@irdl_attr_definition
class SequenceType(ParametrizedAttribute, TypeAttribute):
    """A sequence of values of one type, a tensor type as a rule: `!onnx.seq<tensor<?x4xf32>>`."""

    name = "onnx.seq"
    element: Attribute


@irdl_attr_definition
class OptionalType(ParametrizedAttribute, TypeAttribute):
    """A value of a type, or nothing: `!onnx.opt<tensor<4xf32>>`."""

    name = "onnx.opt"
    element: Attribute


@by_identity
def word_of(type_: Attribute) -> str:
    """The word of a value's type, or its MLIR spelling if ONNX has no such type."""
    match type_:
        case TensorType() | UnrankedTensorType():
            return name_of(type_.element_type)
        case SequenceType():
            return f"seq({word_of(type_.element)})"
        case OptionalType():
            return f"optional({word_of(type_.element)})"
        case _:
            return str(type_)


def unranked(word: str) -> Attribute | None:
    """The type of a word, with tensors of unknown rank; None for what is no word."""
    for prefix, wrap in (("seq(", SequenceType), ("optional(", OptionalType)):
        if word.startswith(prefix):
            inner = unranked(word[len(prefix) : -1])
            return None if inner is None else wrap(inner)
    dtype = by_name(word)
    return None if dtype is None else UnrankedTensorType(dtype.mlir)
