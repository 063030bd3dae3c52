"""Active values: those through which a gradient may flow."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from xdsl.dialects.builtin import TensorType, UnrankedTensorType
from xdsl.ir import Operation, SSAValue

from dialects.onnx import traits
from dialects.onnx.base import OnnxOp
from dialects.onnx.types import MapType, OptionalType, SequenceType, UnknownType
from dialects.support import shapes
from dialects.support.dtypes import of_mlir
from dialects.support.shapes import element_type_of
from passes.autodiff.activity.non_differentiable import zero_reason
from passes.autodiff.activity.straight_through_marks import cotangent_target
from passes.autodiff.rules.quantize import quantizing_op
from passes.builder.captured_values import values_read_by

FLOATS = ("f16", "bf16", "f32", "f64")


def is_float(value: SSAValue) -> bool:
    """Return whether `value` is a float tensor of known rank."""
    if not shapes.has_rank(value):
        return False
    dtype = of_mlir(element_type_of(value))
    return dtype is not None and dtype.name in FLOATS


def may_be_active(value: SSAValue) -> bool:
    """Return whether a gradient may flow through a value: floats of any rank, in containers too, and values
    of unknown type. The walk refuses an op without a rule; it never drops its part of a sum."""
    type_ = value.type
    while isinstance(type_, SequenceType | OptionalType):
        type_ = type_.element
    if not isinstance(type_, TensorType | UnrankedTensorType):
        return isinstance(type_, UnknownType | MapType)
    dtype = of_mlir(type_.element_type)
    return dtype is not None and dtype.name in FLOATS


def operands_and_captures(op: Operation) -> Iterable[SSAValue]:
    """Return the operands of an op, including those captured by its regions."""
    if not op.regions:
        if (estimated := cotangent_target(op)) is not None:
            return [estimated]
        made = quantizing_op(op)
        return op.operands if made is None else (*op.operands, made.operands[0])
    return list(values_read_by(op))


def has_no_gradient(op: Operation) -> bool:
    return zero_reason(op) is not None


def find_active_values(ops: Sequence[Operation], wrt: Collection[SSAValue]) -> set[SSAValue]:
    """Return the values through which a gradient may flow to `wrt`, these included."""
    found = set(wrt)
    for op in ops:
        if has_no_gradient(op) or found.isdisjoint(operands_and_captures(op)):
            continue
        found.update(filter(may_be_active, op.results))
    return found


def is_size(op: Operation) -> bool:
    """Return whether an op reads the shape of its operand, not its elements."""
    return isinstance(op, OnnxOp) and op.onnx_name() in traits.SIZES
