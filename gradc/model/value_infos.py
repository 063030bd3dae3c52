"""ValueInfoProtos: names and types of values, as far as they are known."""

from __future__ import annotations

import onnx
from onnx import ValueInfoProto
from xdsl.dialects.builtin import TensorType, UnrankedTensorType
from xdsl.ir import Attribute, SSAValue

from dialects.onnx.types import OptionalType, SequenceType, UnknownType
from dialects.support import shapes
from gradc.model.attribute_protos import type_proto


def value_info(name: str, value: SSAValue) -> ValueInfoProto:
    return value_info_of(name, value.type)


def with_text_dims(type_: Attribute) -> Attribute:
    """Return a type with dims as text, for users and visualizers."""
    if not isinstance(type_, TensorType):
        return type_
    return shapes.tensor_type(type_.element_type, shapes.dim_texts(shapes.shape_of(type_)))


def value_info_of(name: str, type_: Attribute) -> ValueInfoProto:
    if isinstance(type_, UnknownType):
        return ValueInfoProto(name=name)
    return onnx.helper.make_value_info(name, type_proto(type_))


def edge_type(known: Attribute, declared: Attribute) -> Attribute:
    """Return the declared type of an input or output, or the inferred type where they contradict."""
    match known, declared:
        case SequenceType(), SequenceType():
            return SequenceType(edge_type(known.element, declared.element))
        case OptionalType(), OptionalType():
            return OptionalType(edge_type(known.element, declared.element))
        case (SequenceType() | OptionalType(), _) | (_, UnknownType()):
            return known
        case TensorType() | UnrankedTensorType(), SequenceType() | OptionalType():
            return known
    if not isinstance(known, TensorType) or not isinstance(declared, TensorType):
        return declared
    ours, theirs = shapes.shape_of(known), shapes.shape_of(declared)
    if known.element_type != declared.element_type or len(ours) != len(theirs):
        return known
    dims = [b if shapes.same_dim(a, b) else a for a, b in zip(ours, theirs, strict=True)]
    return shapes.tensor_type(known.element_type, dims)
