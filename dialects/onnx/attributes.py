"""ONNX attribute values: Python <-> MLIR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import (
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
from dialects.support.attributes import int_attribute, ints_attribute, string_attribute
from dialects.support.dense import from_numpy, to_numpy

# Constraints of the generated properties.
INT = IntegerAttr.constr(i64)
INTS = DenseArrayBase.constr(i64)
FLOAT = FloatAttr.constr(BaseAttr(Float32Type))
STRING = BaseAttr(StringAttr)
TENSOR = BaseAttr[DenseIntOrFPElementsAttr](DenseIntOrFPElementsAttr)
TYPE = AnyAttr()

SEGMENTS = "operandSegmentSizes"
"""The one property that is IRDL's and not ONNX's."""


def to_attribute(value: object) -> Attribute:
    """The attribute that an ONNX attribute's Python value is stored as."""
    match value:
        case Attribute():
            return value
        case np.ndarray():
            return from_numpy(value)
        case str():
            return string_attribute(value)
        case bool() | int() | np.integer():
            return int_attribute(int(value))
        case float() | np.floating():
            return FloatAttr(float(value), f32)
        case _:
            assert isinstance(value, Sequence), value
            return ints_attribute(tuple(int(x) for x in value))


def to_python(value: Attribute) -> Python:
    """The Python value; tensors are views, and what is no value (an element type) stays as it is."""
    match value:
        case DenseIntOrFPElementsAttr():
            return to_numpy(value)
        case StringAttr():
            return value.data
        case IntegerAttr():
            return value.value.data
        case FloatAttr():
            return value.value.data
        case DenseArrayBase():
            return [int(x) for x in value.get_values()]  # pyright: ignore
        case _:
            return value


def python_values(properties: Mapping[str, Attribute]) -> dict[str, Python]:
    return {name: to_python(value) for name, value in properties.items() if name != SEGMENTS}
