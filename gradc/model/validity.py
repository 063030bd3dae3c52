"""Validation of a model by onnx's checker and strict shape inference."""

from __future__ import annotations

import re
from functools import partial

import onnx
from onnx import ModelProto, ValueInfoProto
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute

from gradc.model.saving import weight_bytes
from gradc.model.split_model import ModelParts, split_model

CHECKED_BYTES = 2**26
"""Models with more bytes of weights are checked without them, since the checker serializes the model."""

LONGEST_VECTOR = 2**13
"""Longest vector that may hold sizes. onnx propagates floats, too."""


OUTER = re.compile(r"Invalid rank for \w+ broadcasting: ")
"""Error of onnx's data propagation for a row and a column that are added or multiplied, as if they held
sizes. Incompatible shapes have another message."""


class InvalidModelError(AssertionError):
    """An exported model is invalid; the cause has the reason."""


def check(model: ModelProto | ModelParts, limit: int = CHECKED_BYTES, *, elements: bool = True) -> None:
    """Check a model with onnx's checker and strict shape inference. Raises InvalidModelError.

    `elements` propagates the elements of vectors, which may be sizes; onnx takes 140 bytes for each. For
    ModelParts, and beyond `limit` bytes of weights, the larger weights are checked as inputs of the same
    type.
    """
    if isinstance(model, ModelProto) and weight_bytes(model) > limit:
        model = split_model(model)
    checked = _with_weights_as_inputs(model) if isinstance(model, ModelParts) else model
    try:
        if all(map(_has_rank, (*checked.graph.input, *checked.graph.output))):
            onnx.checker.check_model(checked)  # needs types and ranks of inputs and outputs
        _infer(checked, elements)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise InvalidModelError(f"the exported model is not valid: {error}") from error


def _infer(model: ModelProto, elements: bool) -> None:
    infer = partial(onnx.shape_inference.infer_shapes, model, check_type=True, strict_mode=True)
    try:
        infer(data_prop=elements)
    except onnx.shape_inference.InferenceError as error:
        if not elements or not OUTER.search(str(error)):
            raise
        infer(data_prop=False)


def has_long_vector(module: ModuleOp) -> bool:
    """Return whether there are vectors longer than LONGEST_VECTOR."""
    ops = list(module.walk())
    blocks = (block for op in ops for region in op.regions for block in region.blocks)
    values = (*(op.results for op in ops), *(block.args for block in blocks))
    return any(_is_long(value.type) for several in values for value in several)


def _is_long(type_: Attribute) -> bool:
    if not isinstance(type_, TensorType):
        return False
    return type_.get_num_dims() == 1 and type_.get_shape()[0] > LONGEST_VECTOR


def _has_rank(info: ValueInfoProto) -> bool:
    kind = info.type.WhichOneof("value")
    return kind is not None and (kind != "tensor_type" or info.type.tensor_type.HasField("shape"))


def _with_weights_as_inputs(parts: ModelParts) -> ModelProto:
    if not parts.weights:
        return parts.proto
    copy = ModelProto()
    copy.CopyFrom(parts.proto)
    tensors = list(copy.graph.initializer)
    copy.graph.ClearField("initializer")
    inputs = {value.name for value in copy.graph.input}
    for tensor in tensors:
        if tensor.name not in parts.weights:
            copy.graph.initializer.append(tensor)
            continue
        if tensor.name in inputs:  # the initializer is its default
            continue
        info = onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
        copy.graph.input.append(info)
    return copy
