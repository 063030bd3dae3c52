"""ONNX attribute values: Python <-> MLIR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    Float32Type,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    f32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import AnyAttr, BaseAttr

from dialects.onnx.call import Python
from dialects.support.attributes import int_attribute, ints_attribute
from dialects.support.dense import from_numpy, to_numpy

# Constraints of the properties, one for each kind of ONNX attribute.
INT = IntegerAttr.constr(i64)
INTS = DenseArrayBase.constr(i64)
FLOAT = FloatAttr.constr(BaseAttr(Float32Type))
STRING = BaseAttr(StringAttr) | BaseAttr(BytesAttr)
TENSOR = BaseAttr[DenseIntOrFPElementsAttr](DenseIntOrFPElementsAttr)
FLOATS = DenseArrayBase.constr(f32)
STRINGS = ArrayAttr.constr(STRING)
TYPE = AnyAttr()
TYPE_PROTO = AnyAttr()
SPARSE_TENSOR = AnyAttr()

SEGMENTS = "operandSegmentSizes"
"""The one property that belongs to IRDL, not to ONNX."""


def to_attribute(value: object, kind: str) -> Attribute:
    """Return the MLIR attribute for the Python value of an ONNX attribute of a kind."""
    match value:
        case Attribute():
            return value
        case np.ndarray():
            return from_numpy(value)
        case str() | bytes():
            return text_attribute(value)
        case bool() | int() | np.integer() if kind == "FLOAT":
            return FloatAttr(float(value), f32)
        case bool() | int() | np.integer():
            return int_attribute(int(value))
        case float() | np.floating():
            return FloatAttr(float(value), f32)
        case _:
            assert isinstance(value, Sequence), value
            return list_attribute(value, kind)


def text_attribute(value: str | bytes) -> StringAttr | BytesAttr:
    """Return a string attribute; like MLIR's text, it separates ASCII strings from bytes."""
    data = value.encode() if isinstance(value, str) else value
    return StringAttr(data.decode()) if data.isascii() else BytesAttr(data)


def normalise_strings(value: Attribute) -> Attribute:
    """Normalise a parsed string, or list of strings, to the form of `text_attribute`."""
    if isinstance(value, ArrayAttr) and any(isinstance(element, StringAttr) for element in value):
        return ArrayAttr(map(_normalise_string, value))
    return _normalise_string(value)


def _normalise_string(value: Attribute) -> Attribute:
    return text_attribute(value.data) if isinstance(value, StringAttr) else value


def text_bytes(value: StringAttr | BytesAttr) -> bytes:
    return value.data.encode() if isinstance(value, StringAttr) else value.data


def list_attribute(values: Sequence[object], kind: str) -> Attribute:
    """Return the attribute for a list. Raises ValueError if a value is not of the kind."""
    if kind == "INTS" and all(isinstance(x, int | np.integer) for x in values):
        return ints_attribute(tuple(int(x) for x in values))  # pyright: ignore
    if kind == "FLOATS" and all(isinstance(x, float | int | np.number) for x in values):
        return DenseArrayBase.from_list(f32, [float(x) for x in values])  # pyright: ignore
    if kind == "STRINGS" and all(isinstance(x, str) for x in values):
        return ArrayAttr([text_attribute(str(x)) for x in values])
    raise ValueError(f"a value of the kind {kind} expected")


def to_python(value: Attribute) -> Python:
    """Return the Python value; tensors are views, and element types stay attributes."""
    match value:
        case DenseIntOrFPElementsAttr():
            return to_numpy(value)
        case StringAttr() | BytesAttr():
            return _word(value)
        case IntegerAttr():
            return value.value.data
        case FloatAttr():
            return value.value.data
        case DenseArrayBase():
            return list(value.get_values())  # pyright: ignore
        case ArrayAttr() if all(isinstance(x, StringAttr | BytesAttr) for x in value):
            return [_word(x) for x in value if isinstance(x, StringAttr | BytesAttr)]
        case _:
            return value


def _word(value: StringAttr | BytesAttr) -> str:
    return text_bytes(value).decode(errors="surrogateescape")


def python_values(properties: Mapping[str, Attribute]) -> dict[str, Python]:
    return {name: to_python(value) for name, value in properties.items() if name != SEGMENTS}
