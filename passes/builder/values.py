"""Values with arithmetic: `g * (1 - y * y)` creates three ONNX ops, so that rules read like formulas."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import UnitAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import UNROUNDED, OnnxOp
from dialects.support.dtypes import HALVES, of_mlir
from dialects.support.interfaces import set_type
from dialects.support.shapes import (
    Dim,
    Shape,
    element_type_of,
    has_rank,
    merge,
    shape_of,
    static_shape,
    tensor_type,
)
from passes.builder.rewriting import Builder

MASK = "gradc.mask"
"""Attribute of a 0/1 mask that a rule multiplies by, as opposed to a mask of the model."""

SUM = "gradc.sum"
"""Attribute of a sum that a rule creates, as opposed to a sum of the model."""

EXPONENTIAL = "gradc.exponential"
"""Attribute of an exponential of a formula; a constant factor may be moved into its argument."""


@dataclass
class ValueBuilder:
    """Creates expressions from SSA values, and scalar constants, which are reused.

    `strict_ieee`: select with Where instead of multiplying by a mask, as 0 * inf is NaN.
    """

    emit: Builder = field(default_factory=Builder)
    strict_ieee: bool = False
    _scalars: dict[tuple[float, Attribute], SSAValue] = field(default_factory=dict)

    def __call__(self, value: SSAValue) -> Value:
        return Value(self, value)

    def scalar(self, value: float, like: Value) -> Value:
        """Return a rank-0 constant with the dtype of `like`."""
        key = (float(value), like.dtype)
        if key not in self._scalars:
            self._scalars[key] = self._number(value, like.dtype)
        return self(self._scalars[key])

    def _number(self, value: float, type_: Attribute) -> SSAValue:
        dtype = of_mlir(type_)
        assert dtype is not None
        number = np.array(value, dtype.numpy)
        if dtype.name not in HALVES or float(number) == value or math.isnan(value):
            return self.emit.constant(number)
        cast = onnx.CastOp(self.emit.constant(np.array(value, np.float32)), to=type_)
        cast.attributes[UNROUNDED] = UnitAttr()
        return self.emit(cast)

    def ints(self, values: Sequence[int]) -> Value:
        return self(self.emit.ints(values))

    def shape(self, like: Value) -> Value:
        """Return the shape of a value as int64 vector, a constant if it is static."""
        known = static_shape(like.value) if has_rank(like.value) else None
        return like.apply(onnx.ShapeOp) if known is None else self.ints(known)

    def fill_like(self, value: float, like: Value) -> Value:
        """Return a tensor filled with one number, with the shape and dtype of `like`."""
        scalar = self.scalar(value, like)
        is_scalar = has_rank(like.value) and not shape_of(like.value)
        return scalar if is_scalar else scalar.apply(onnx.ExpandOp, self.shape(like))

    def keep(self, value: Value, condition: Value) -> Value:
        """Return the value where a condition of its shape holds, else 0."""
        if self.strict_ieee:
            return condition.where(value, 0)
        mask = condition.cast(value.dtype)
        if isinstance(mask.value.owner, onnx.CastOp):
            mask.value.owner.attributes[MASK] = UnitAttr()
        return value * mask

    def either(self, condition: Value, yes: Value, no: Operand) -> Value:
        return condition.where(yes, no)


@dataclass(frozen=True, eq=False)
class Value:
    """An SSA value with operators that create ops; Python numbers become scalar constants of its dtype."""

    e: ValueBuilder
    value: SSAValue

    @property
    def dtype(self) -> Attribute:
        return element_type_of(self.value)

    @property
    def shape(self) -> Shape:
        return shape_of(self.value)

    @property
    def rank(self) -> int:
        return len(self.shape)

    def assume_shape(self, shape: Sequence[Dim]) -> Value:
        """Refine the type of this value by a shape that its op cannot infer."""
        made = self.value.owner
        if isinstance(made, Operation) and made.parent is None:  # new: nobody else's type changes
            known = merge(shape, self.shape) if has_rank(self.value) else shape
            set_type(self.value, tensor_type(self.dtype, known))
        return self

    def apply(self, op: type[OnnxOp], *others: Operand | None, **attributes: Any) -> Value:
        """Create an ONNX op with this value as first operand; return the first result."""
        given = [None if other is None else self._operand(other).value for other in others]
        return self.e(self.e.emit(op(self.value, *given, **attributes)))

    def _operand(self, other: Operand) -> Value:
        return other if isinstance(other, Value) else self.e.scalar(other, self)

    def _swap_operands(self, op: type[OnnxOp], other: Operand) -> Value:
        return self._operand(other).apply(op, self)

    def __add__(self, other: Operand) -> Value:
        return self.apply(onnx.AddOp, other)

    def __radd__(self, other: float) -> Value:
        return self._swap_operands(onnx.AddOp, other)

    def __sub__(self, other: Operand) -> Value:
        return self.apply(onnx.SubOp, other)

    def __rsub__(self, other: float) -> Value:
        return self._swap_operands(onnx.SubOp, other)

    def __mul__(self, other: Operand) -> Value:
        return self.apply(onnx.MulOp, other)

    def __rmul__(self, other: float) -> Value:
        return self._swap_operands(onnx.MulOp, other)

    def __truediv__(self, other: Operand) -> Value:
        return self.apply(onnx.DivOp, other)

    def __rtruediv__(self, other: float) -> Value:
        return self._swap_operands(onnx.DivOp, other)

    def __neg__(self) -> Value:
        return self.apply(onnx.NegOp)

    def __gt__(self, other: Operand) -> Value:
        return self.apply(onnx.GreaterOp, other)

    def __ge__(self, other: Operand) -> Value:
        return self.apply(onnx.GreaterOrEqualOp, other)

    def __lt__(self, other: Operand) -> Value:
        return self.apply(onnx.LessOp, other)

    def __le__(self, other: Operand) -> Value:
        return self.apply(onnx.LessOrEqualOp, other)

    def __and__(self, other: Value) -> Value:
        return self.apply(onnx.AndOp, other)

    def equals(self, other: Operand) -> Value:
        return self.apply(onnx.EqualOp, other)

    def square(self) -> Value:
        return self * self

    def cast(self, to: Attribute) -> Value:
        """Cast to another dtype; a cast comparison is marked with `MASK`."""
        if to == self.dtype:
            return self
        cast = onnx.CastOp(self.value, to=to)
        if isinstance(self.value.owner, onnx.GreaterOp | onnx.LessOp):
            cast.attributes[MASK] = UnitAttr()
        return self.e(self.e.emit(cast))

    def sum_axes(self, axes: Sequence[int], keepdims: int = 0) -> Value:
        """Sum along at least one axis."""
        total = onnx.ReduceSumOp(self.value, self.e.ints(axes).value, keepdims=keepdims)
        total.attributes[SUM] = UnitAttr()
        return self.e(self.e.emit(total))

    def as_int64(self) -> Value:
        return self.cast(i64)

    def where(self, yes: Value, no: Operand) -> Value:
        """Select elementwise between two expressions by this condition."""
        other = no if isinstance(no, Value) else self.e.scalar(no, yes)
        return self.apply(onnx.WhereOp, yes, other)

    def at_least(self, low: Operand) -> Value:
        return self.e(self.e.emit(onnx.MaxOp([self.value, self._operand(low).value])))

    def at_most(self, high: Operand) -> Value:
        return self.e(self.e.emit(onnx.MinOp([self.value, self._operand(high).value])))

    def clip_to(self, low: float, high: float) -> Value:
        return self.apply(onnx.ClipOp, low, high)

    def abs(self) -> Value:
        return self.apply(onnx.AbsOp)

    def exp(self) -> Value:
        return self.apply(onnx.ExpOp)

    def exp_times(self, factor: float) -> Value:
        """Return exp(x) times a positive number, marked with `EXPONENTIAL`."""
        made = self.exp()
        assert isinstance(made.value.owner, onnx.ExpOp)
        made.value.owner.attributes[EXPONENTIAL] = UnitAttr()
        return made * factor

    def log(self) -> Value:
        return self.apply(onnx.LogOp)

    def sqrt(self) -> Value:
        return self.apply(onnx.SqrtOp)

    def erf(self) -> Value:
        return self.apply(onnx.ErfOp)

    def tanh(self) -> Value:
        return self.apply(onnx.TanhOp)

    def sigmoid(self) -> Value:
        return self.apply(onnx.SigmoidOp)

    def softplus(self) -> Value:
        return self.apply(onnx.SoftplusOp)

    def sign(self) -> Value:
        return self.apply(onnx.SignOp)


Operand: TypeAlias = Value | float
