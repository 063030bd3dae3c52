"""The value of a Constant, which may be given in several forms."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, BytesAttr, DenseIntOrFPElementsAttr, StringAttr, TensorType
from xdsl.ir import Attribute

from dialects.onnx.attributes import to_python
from dialects.onnx.tensor_attributes import StringTensorAttr
from dialects.support.dense import from_numpy
from dialects.support.diagnostics import violation
from dialects.support.dtypes import StringType

_NUMBERS = {
    "value_int": np.int64,
    "value_ints": np.int64,
    "value_float": np.float32,
    "value_floats": np.float32,
}


def constant_value(name: str, value: Attribute) -> DenseIntOrFPElementsAttr | StringTensorAttr:
    """The tensor that one of Constant's attributes says."""
    if name == "value" and isinstance(value, DenseIntOrFPElementsAttr | StringTensorAttr):
        return value
    if name == "value_string" and isinstance(value, StringAttr | BytesAttr):
        return StringTensorAttr(ArrayAttr([value]), TensorType(StringType(), []))
    if name == "value_strings" and isinstance(value, ArrayAttr):
        return StringTensorAttr(value, TensorType(StringType(), [len(value)]))
    if name in _NUMBERS:
        return from_numpy(np.array(to_python(value), _NUMBERS[name]))
    raise violation(f"kind of attribute {name}")
