"""Result types of ai.onnx.ml ops, which onnx infers only in part; upgrading the ops that read them needs
types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx
from xdsl.dialects.builtin import TensorType, UnrankedTensorType, f32, i64
from xdsl.ir import Attribute

from dialects.support.dtypes import StringType
from dialects.support.shapes import tensor_type

ML = "ai.onnx.ml"

_CLASSIFIERS = ("LinearClassifier", "SVMClassifier", "TreeEnsembleClassifier")
_REGRESSORS = ("LinearRegressor", "SVMRegressor", "TreeEnsembleRegressor")
_BY_VALUES = {"values_strings": StringType(), "values_int64s": i64, "values_floats": f32}
"""LabelEncoder: attribute -> dtype of the result."""

_WORDS = {"tensor(float)": f32, "tensor(int64)": i64, "tensor(string)": StringType()}


def complete_types(
    op_type: str,
    attributes: Mapping[str, Attribute],
    declared: Sequence[Attribute | None],
    operands: Sequence[Attribute | None] = (),
) -> list[Attribute | None]:
    """Return the declared types, with those that the op implies for undeclared results."""
    own = _types(op_type, attributes) or _types_by_schema(op_type, operands)
    return [own[i] if type_ is None and i < len(own) else type_ for i, type_ in enumerate(declared)]


def _types_by_schema(op_type: str, operands: Sequence[Attribute | None]) -> Sequence[Attribute | None]:
    """Return the dtype of each result: a fixed one, or that of the input with the same type variable."""
    if not onnx.defs.has(op_type, ML):
        return []
    schema = onnx.defs.get_schema(op_type, ML)
    shared = {
        port.type_str: type_.element_type
        for port, type_ in zip(schema.inputs, operands, strict=False)
        if isinstance(type_, TensorType | UnrankedTensorType)
    }
    dtypes = [_WORDS.get(port.type_str, shared.get(port.type_str)) for port in schema.outputs]
    return [None if dtype is None else UnrankedTensorType(dtype) for dtype in dtypes]


def _types(op_type: str, attributes: Mapping[str, Attribute]) -> Sequence[Attribute]:
    scores = tensor_type(f32, (None, None))
    if op_type in _CLASSIFIERS:
        label = StringType() if "classlabels_strings" in attributes else i64
        return [tensor_type(label, (None,)), scores]
    if op_type in _REGRESSORS:
        return [scores]
    if op_type != "LabelEncoder":
        return []
    return [UnrankedTensorType(dtype) for name, dtype in _BY_VALUES.items() if name in attributes]
