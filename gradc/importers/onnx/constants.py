"""Values of Constant nodes, which have several attributes for them."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, BytesAttr, DenseIntOrFPElementsAttr, StringAttr, TensorType
from xdsl.ir import Attribute

from dialects.onnx.attributes import to_python
from dialects.onnx.node import kind_of_attribute
from dialects.onnx.tensor_attributes import StringTensorAttr
from dialects.support.dense import from_numpy
from dialects.support.diagnostics import suggest, violation
from dialects.support.dtypes import StringType

_NUMBERS = {"INT": np.int64, "INTS": np.int64, "FLOAT": np.float32, "FLOATS": np.float32}

_NAMES = (
    "value", "value_int", "value_ints", "value_float", "value_floats", "value_string", "value_strings",
)  # fmt: skip


def constant_value(name: str, value: Attribute) -> DenseIntOrFPElementsAttr | StringTensorAttr:
    """Return the tensor of one of Constant's attributes; the kind of the value decides, not the name, as in
    onnxruntime."""
    if name not in _NAMES:
        raise violation(f"Constant has no attribute {name}", hint=suggest(name, _NAMES))
    kind = kind_of_attribute(value) or ""
    match value:
        case DenseIntOrFPElementsAttr() | StringTensorAttr():
            return value
        case StringAttr() | BytesAttr():
            return StringTensorAttr(ArrayAttr([value]), TensorType(StringType(), []))
        case ArrayAttr() if kind == "STRINGS":
            words = ArrayAttr(word for word in value if isinstance(word, StringAttr | BytesAttr))
            return StringTensorAttr(words, TensorType(StringType(), [len(words)]))
    if kind not in _NUMBERS:
        raise violation(f"kind of attribute {name}", given=kind, expected="numbers, strings or a tensor")
    return from_numpy(np.array(to_python(value), _NUMBERS[kind]))
