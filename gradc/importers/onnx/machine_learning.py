"""What results of ai.onnx.ml's models are, of which onnx infers few: ops that read them are brought to newer
opsets by the types of what they read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import UnrankedTensorType, f32, i64
from xdsl.ir import Attribute

from dialects.support.dtypes import StringType
from dialects.support.shapes import tensor_type

_CLASSIFIERS = ("LinearClassifier", "SVMClassifier", "TreeEnsembleClassifier")
_REGRESSORS = ("LinearRegressor", "SVMRegressor", "TreeEnsembleRegressor")
_ELEMENTWISE = ("Normalizer", "Scaler")


def completed(
    op_type: str, attributes: Mapping[str, Attribute], told: Sequence[Attribute | None]
) -> list[Attribute | None]:
    """The types that are told, and those that the op says of results that nothing is told of."""
    own = _types(op_type, attributes)
    return [own[i] if type_ is None and i < len(own) else type_ for i, type_ in enumerate(told)]


def _types(op_type: str, attributes: Mapping[str, Attribute]) -> Sequence[Attribute]:
    scores = tensor_type(f32, (None, None))
    if op_type in _CLASSIFIERS:
        label = StringType() if "classlabels_strings" in attributes else i64
        return [tensor_type(label, (None,)), scores]
    if op_type in _REGRESSORS:
        return [scores]
    return [UnrankedTensorType(f32)] if op_type in _ELEMENTWISE else []
