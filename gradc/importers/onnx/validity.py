"""Rules of ONNX that a readable model may break."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import onnx
from onnx import FunctionProto, ModelProto, SparseTensorProto, TensorProto
from xdsl.dialects.builtin import TensorType, UnrankedTensorType
from xdsl.ir import Attribute

from dialects.onnx.types import OptionalType, SequenceType, UnknownType, word_of
from dialects.support import shapes
from dialects.support.diagnostics import Diagnostic, UnsupportedError, sentence, suggest, violation
from gradc.importers.onnx.types import element_type

RUNTIME_OPS = frozenset((
    "Affine", "Crop", "DynamicSlice", "ImageScaler", "MemcpyFromHost", "MemcpyToHost", "ParametricSoftplus",
    "Scale", "ScaledTanh", "SimplifiedLayerNormalization",
))  # fmt: skip
"""Ops without a schema in the standard domain that onnxruntime implements."""

TRAINING = "ai.onnx.preview.training"
OPTIMIZERS = ("Adagrad", "Adam", "Momentum")
"""Ops of the preview domain that update parameters, which no runtime implements."""

FunctionKey = tuple[str, str, str]
"""Domain, name and overload of a function."""


def functions_by_key(model: ModelProto) -> Mapping[FunctionKey, FunctionProto]:
    """Return the functions of a model. Raises GradcError for duplicates."""
    found: dict[FunctionKey, FunctionProto] = {}
    for function in model.functions:
        key = (function.domain, function.name, function.overload)
        if key in found:
            raise violation(f"the function {function.domain}.{function.name} is given twice")
        found[key] = function
    return found


def check_op_type(domain: str, op_type: str) -> None:
    """Raise GradcError for an op that a domain of ONNX has in no opset."""
    if domain == TRAINING and op_type in OPTIMIZERS:
        what = f"{op_type} is an op of ONNX's preview of training, which no runtime implements"
        command = f"`gradc train --optimizer {_WORDS.get(op_type, 'adam')}`"
        remedy = f"{command} writes a training step in plain ops for the model without it"
        raise UnsupportedError(Diagnostic("error", sentence(what, hint=remedy)))
    known = _op_types(domain)
    if not known or op_type in known or (not domain and op_type in RUNTIME_OPS):
        return
    what = f"{op_type} is not in the domain {domain}" if domain else f"{op_type} is not an op of ONNX"
    raise violation(what, hint=suggest(op_type, known) or "custom ops need their own domain")


_WORDS = {"Adagrad": "adagrad", "Momentum": "sgd:momentum=0.9"}


def check_training_info(model: ModelProto) -> None:
    """Raise UnsupportedError for a model with ONNX's preview of training algorithms."""
    if model.training_info:
        what = "the model has training_info, ONNX's preview of training, which no runtime runs"
        remedy = "del model.training_info[:]; `gradc train` writes a training step in plain ops"
        raise UnsupportedError(Diagnostic("error", sentence(what, hint=remedy)))


@cache
def _op_types(domain: str) -> frozenset[str]:
    """Return the ops that onnx defines for a domain, in any opset."""
    schemas = onnx.defs.get_all_schemas_with_history()
    return frozenset(schema.name for schema in schemas if schema.domain == domain)


def check_version(domain: str, version: int, before: int | None) -> None:
    """Raise GradcError for an unknown opset of a domain, or one that contradicts an earlier import."""
    what = f'opset of the domain "{domain}"'
    if not 1 <= version < 2**31:
        raise violation(what, given=version, expected="a version, 1 or newer")
    newest = _newest_version(domain)
    if newest is not None and version > newest:
        expected = f"1 to {newest}, the newest of the installed onnx {onnx.__version__}"
        raise violation(what, given=version, expected=expected)
    if before is not None and before != version:
        raise violation(what, given=f"{before} and {version}", expected="one version")


@cache
def _newest_version(domain: str) -> int | None:
    """Return the newest opset of a domain of ONNX, None for other domains."""
    if not domain:
        return onnx.defs.onnx_opset_version()
    columns = {"ai.onnx.ml": 3, "ai.onnx.preview.training": 4}
    if domain not in columns:
        return None
    rows = onnx.helper.VERSION_TABLE
    return max(int(row[columns[domain]]) for row in rows if len(row) > columns[domain])


def check_declared(declared: Attribute, known: Attribute) -> None:
    """Raise GradcError if the declared kind or dtype of an output is wrong.

    A declared shape may be that of one run: runtimes do not rely on it.
    """
    if UnknownType() in (_innermost(declared), _innermost(known)):
        return
    if word_of(declared) != word_of(known):
        raise violation("type", given=f"declared as {word_of(declared)}", expected=word_of(known))


def _innermost(type_: Attribute) -> Attribute:
    while isinstance(type_, SequenceType | OptionalType):
        type_ = type_.element
    return type_


def check_default(declared: Attribute, tensor: TensorProto | SparseTensorProto) -> None:
    """Raise GradcError for an input with another dtype or shape than its initializer."""
    if not isinstance(declared, TensorType | UnrankedTensorType):
        return
    number = tensor.data_type if isinstance(tensor, TensorProto) else tensor.values.data_type
    given = element_type(number)
    if declared.element_type != given:
        what, expected = "dtype of the initializer", word_of(declared)
        raise violation(what, given=word_of(UnrankedTensorType(given)), expected=expected)
    shape = tuple(tensor.dims)
    if isinstance(declared, TensorType) and not shapes.compatible(shape, shapes.shape_of(declared)):
        expected = shapes.show(shapes.shape_of(declared))
        raise violation("shape of the initializer", given=shapes.show(shape), expected=expected)
