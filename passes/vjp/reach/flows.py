"""Through which values a gradient may flow."""

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
from passes.emit.captured import uses_by
from passes.vjp.reach.estimates import taking_cotangent
from passes.vjp.reach.listed import zero_reason
from passes.vjp.rules.quantize import quantizing

FLOATS = ("f16", "bf16", "f32", "f64")


def is_float(value: SSAValue) -> bool:
    """Whether a value is a tensor that can have a gradient."""
    if not shapes.has_rank(value):
        return False
    dtype = of_mlir(element_type_of(value))
    return dtype is not None and dtype.name in FLOATS


def may_carry(value: SSAValue) -> bool:
    """Whether a gradient may flow through a value: floats of any rank, in a container or not, and what has
    no known type. One that no rule knows is refused where it is met, not left out of a sum."""
    type_ = value.type
    while isinstance(type_, SequenceType | OptionalType):
        type_ = type_.element
    if not isinstance(type_, TensorType | UnrankedTensorType):
        return isinstance(type_, UnknownType | MapType)
    dtype = of_mlir(type_.element_type)
    return dtype is not None and dtype.name in FLOATS


def read_by(op: Operation) -> Iterable[SSAValue]:
    """The values that go into an op, also those that its regions read."""
    if not op.regions:
        if (estimated := taking_cotangent(op)) is not None:
            return [estimated]
        made = quantizing(op)
        return op.operands if made is None else (*op.operands, made.operands[0])
    return [use.operation.operands[use.index] for use in uses_by(op)]


def has_no_gradient(op: Operation) -> bool:
    return zero_reason(op) is not None


def depending_on(ops: Sequence[Operation], wrt: Collection[SSAValue]) -> set[SSAValue]:
    """The values through which a gradient may flow to `wrt`, these included."""
    found = set(wrt)
    for op in ops:
        if has_no_gradient(op) or found.isdisjoint(read_by(op)):
            continue
        found.update(filter(may_carry, op.results))
    return found


def is_size(op: Operation) -> bool:
    """Whether an op looks at the shape of what it reads, not at its elements."""
    return isinstance(op, OnnxOp) and op.onnx_name() in traits.SIZES
