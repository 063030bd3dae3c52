"""Node attributes: ONNX protos to the dialect's attributes."""

from __future__ import annotations

from collections.abc import Mapping

from onnx import AttributeProto, GraphProto, NodeProto
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, FloatAttr, IntegerAttr, f32, i64
from xdsl.ir import Attribute

from dialects.onnx.attributes import text_attribute
from dialects.onnx.node import kind_of_attribute
from dialects.onnx.signature import Signature
from dialects.support.attributes import int_attribute, ints_attribute
from dialects.support.diagnostics import suggest, violation
from gradc.importers.onnx.types import check_text, element_type, type_of
from gradc.importers.onnx.weights import sparse_attribute, tensor_attribute
from gradc.model.external_data import TensorData

Bindings = Mapping[str, AttributeProto]
"""Attributes of a function call, which the function's nodes refer to by name."""

FIELDS = {
    "f": "FLOAT", "i": "INT", "s": "STRING", "t": "TENSOR", "g": "GRAPH", "sparse_tensor": "SPARSE_TENSOR",
    "tp": "TYPE_PROTO", "floats": "FLOATS", "ints": "INTS", "strings": "STRINGS", "tensors": "TENSORS",
    "graphs": "GRAPHS", "sparse_tensors": "SPARSE_TENSORS", "type_protos": "TYPE_PROTOS",
}  # fmt: skip
"""Value field of an AttributeProto -> attribute kind."""


def attributes_of(node: NodeProto, bindings: Bindings | None) -> dict[str, AttributeProto]:
    """Return the attributes by name; a reference that the call does not bind is left out.

    Outside of functions `bindings` is None, and an attribute is its own value, even if it is a reference.
    """
    found: dict[str, AttributeProto] = {}
    for proto in node.attribute:
        check_text(proto.name, proto.ref_attr_name)
        if proto.name in found:
            raise violation(f"attribute {proto.name} is given twice")
        value = proto if bindings is None or not proto.ref_attr_name else bindings.get(proto.ref_attr_name)
        if value is not None:
            found[proto.name] = value
    return found


def values_of(protos: Mapping[str, AttributeProto], data: TensorData) -> dict[str, Attribute]:
    """Return the attributes that are not graphs."""
    found = {}
    for name, proto in protos.items():
        kind = _kind(proto)
        if kind == "GRAPHS":
            raise violation(f"attribute {name}", given="a list of graphs", expected="one graph each")
        if kind != "GRAPH":
            found[name] = _value(name, kind, proto, data)
    return found


def graphs_of(protos: Mapping[str, AttributeProto]) -> dict[str, GraphProto]:
    return {name: proto.g for name, proto in protos.items() if _kind(proto) == "GRAPH"}


def check_attributes(name: str, given: Mapping[str, Attribute], signature: Signature) -> dict[str, Attribute]:
    """Check attributes against a signature and return them in its kinds; raise for a wrong name or kind."""
    found = {}
    for key, value in given.items():
        kind = signature.kinds.get(key)
        if kind is None:
            hint = suggest(key, signature.kinds)
            raise violation(f"{name} has no attribute {key}", hint=hint)
        if (name, key) in _NO_TYPE and isinstance(value, IntegerAttr) and not value.value.data:
            continue
        found[key] = _check_kind(key, kind, value)
    required = [a.name for a in signature.attributes if a.required and a.name in signature.kinds]
    if missing := [key for key in required if key not in found]:
        raise violation(f"{name} needs the attribute {missing[0]}")
    return found


_NO_TYPE = (
    *(
        ("QuantizeLinear", "output_dtype"),
        ("QuantizeLinear", "precision"),
        ("DequantizeLinear", "output_dtype"),
    ),
)
"""Op and attribute whose default 0 means no type; onnxruntime writes it explicitly."""


def _check_kind(name: str, kind: str, value: Attribute) -> Attribute:
    given = kind_of_attribute(value)
    if kind == "TYPE" and isinstance(value, IntegerAttr):
        return element_type(value.value.data)
    if given is not None and given == kind:
        return value
    empty = isinstance(value, DenseArrayBase | ArrayAttr) and not len(value)
    if empty and kind in _EMPTY:
        return _EMPTY[kind]
    raise violation(f"kind of attribute {name}", given=given, expected="INT" if kind == "TYPE" else kind)


_EMPTY: dict[str, Attribute] = {
    "INTS": ints_attribute(()),
    "FLOATS": DenseArrayBase.from_list(f32, []),
    "STRINGS": ArrayAttr([]),
}


def _kind(proto: AttributeProto) -> str:
    """Return the kind; models of IR version 1 lack it, so the set field decides."""
    if proto.type:
        return AttributeProto.AttributeType.Name(proto.type)
    fields = (field.name for field, _ in proto.ListFields())
    found = next((FIELDS[field] for field in fields if field in FIELDS), None)
    if found is None:
        raise violation(f"attribute {proto.name} has no value")
    return found


def _value(name: str, kind: str, proto: AttributeProto, data: TensorData) -> Attribute:
    match kind:
        case "INT":
            return int_attribute(proto.i)
        case "FLOAT":
            return FloatAttr(proto.f, f32)
        case "STRING":
            return text_attribute(proto.s)
        case "INTS":
            return ints_attribute(tuple(proto.ints))
        case "FLOATS":
            return DenseArrayBase.from_list(f32, list(proto.floats))
        case "STRINGS":
            return ArrayAttr(map(text_attribute, proto.strings))
        case "TENSOR":
            return tensor_attribute(proto.t, data)
        case "TENSORS":
            return ArrayAttr(tensor_attribute(tensor, data) for tensor in proto.tensors)
        case "SPARSE_TENSOR":
            return sparse_attribute(proto.sparse_tensor, data)
        case "SPARSE_TENSORS":
            return ArrayAttr(sparse_attribute(tensor, data) for tensor in proto.sparse_tensors)
        case "TYPE_PROTO":
            return type_of(proto.tp)
        case "TYPE_PROTOS":
            return ArrayAttr(map(type_of, proto.type_protos))
        case _:
            raise violation(f"kind of attribute {name}", given=kind, expected="one of ONNX's")


def ints(value: Attribute) -> tuple[int, ...]:
    """Return the numbers of a list attribute."""
    assert isinstance(value, DenseArrayBase), value
    return tuple(int(x) for x in value.get_values())  # pyright: ignore


def int_of(value: Attribute | None, default: int) -> int:
    return value.value.data if isinstance(value, IntegerAttr) and value.type == i64 else default
