"""LSTM, GRU and RNN in variants that all runtimes compute like onnxruntime."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.recurrence import directions_of
from passes.autodiff.common.primal import Primal
from passes.builder.op_builder import OpBuilder
from passes.builder.values import Builder
from passes.decompositions.registry import Results

RECURRENT = (onnx.GRUOp, onnx.LSTMOp, onnx.RNNOp)
LENGTHS, PEEPHOLES = 4, 7
"""Operand indices."""
FIRST = -(2**31)
"""Before the start of an axis of any size."""


def has_rare_attributes(op: OnnxOp) -> bool:
    """Return whether `is_rare` holds for an op with layout 0."""
    attributes = op.onnx_attributes()
    if attributes.get("layout", 0):
        return False
    return is_rare(op)


def is_rare(op: OnnxOp) -> bool:
    """Return whether an op has clip, input_forget, peepholes or non-default activations."""
    attributes, inputs = op.onnx_attributes(), op.onnx_inputs()
    plain = directions_of(op.onnx_name(), {"direction": attributes.get("direction", "forward")})
    own = directions_of(op.onnx_name(), attributes) != plain
    peepholes = len(inputs) > PEEPHOLES and inputs[PEEPHOLES] is not None
    return own or peepholes or "clip" in attributes or bool(attributes.get("input_forget", 0))


def is_reversed(op: OnnxOp) -> bool:
    """Return whether an op runs over all steps in reverse."""
    attributes, inputs = op.onnx_attributes(), op.onnx_inputs()
    has_lengths = len(inputs) > LENGTHS and inputs[LENGTHS] is not None
    return attributes.get("direction", "forward") == "reverse" and not has_lengths


def forward(f: Primal, e: Builder) -> Results:
    """Reverse the steps of the data, run forward, and reverse those of the result."""
    op, emit = f.op, e.emit
    axis = 1 if op.onnx_attributes().get("layout", 0) else 0
    operands = [_reverse_axis(emit, op.operands[0], axis), *op.operands[1:]]
    made = type(op).create(
        operands=operands,
        result_types=[result.type for result in op.results],
        properties=dict(op.properties),
        attributes=dict(op.attributes),
    )
    made.properties["direction"] = StringAttr("forward")
    whole, *last = emit.all(made)
    if op.results[0].first_use is not None:
        whole = _reverse_axis(emit, whole, axis)
    return [whole, *last]


def _reverse_axis(emit: OpBuilder, value: SSAValue, axis: int) -> SSAValue:
    back = emit.ints([-1])
    return emit(onnx.SliceOp(value, back, emit.ints([FIRST]), emit.ints([axis]), back))
