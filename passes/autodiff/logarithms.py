"""Stable logarithms of products, quotients, sums of exponentials, selections and moved elements."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx import traits
from dialects.onnx.base import OnnxOp
from dialects.onnx.values import constant_of
from dialects.support.shapes import element_type_of
from passes.autodiff.compositions import (
    Opaque,
    constant_axes,
    is_at_most_zero,
    keeps_dims,
    negative,
    uniform_number,
)
from passes.builder.values import Builder, Value


@dataclass(frozen=True)
class Logarithms:
    """Logarithms of values that need not be computed themselves.

    `of_positive`: only of values that are positive for all operands.
    """

    opaque: Opaque
    e: Builder
    of_positive: bool = False

    def of(self, value: SSAValue, left: int) -> Value | None:
        op = self.opaque.maker(value)
        if op is None or not left:
            return None
        form = LOGARITHMS.get(op.onnx_name())
        found = None if form is None else form(self, op, left - 1)
        if found is None and op.onnx_name() in _MOVES:
            return self._moved(op, left - 1)
        return found

    def or_plain(self, value: SSAValue, left: int) -> Value:
        """Return the stable logarithm, or else a plain Log."""
        found = self.of(value, left)
        known = constant_of(value)
        if found is not None:
            return found
        if known is not None and known.size == 1 and float(known.reshape(())) > 0:
            return self.e(self.e.emit.constant(np.log(known.astype(np.float64)).astype(known.dtype)))
        return self.e(value).log()

    def _moved(self, op: OnnxOp, left: int) -> Value | None:
        """Apply a data movement to a logarithm."""
        inner = self.of(op.operands[0], left)
        if inner is None:
            return None
        moved = op.clone()
        moved.operands[0] = inner.value
        return self.e(self.e.emit(moved))

    def product(self, op: OnnxOp, left: int) -> Value | None:
        return self._combine(op, left, lambda a, b: a + b)

    def quotient(self, op: OnnxOp, left: int) -> Value | None:
        return self._combine(op, left, lambda a, b: a - b)

    def _combine(self, op: OnnxOp, left: int, join: Callable[[Value, Value], Value]) -> Value | None:
        """Combine the operands' logarithms if one is positive for sure: the other has the result's sign."""
        positive = dataclasses.replace(self, of_positive=True)
        forms = [positive.of(operand, left) for operand in op.operands]
        if not any(form is not None for form in forms):
            return None
        first, second = (
            self.or_plain(operand, left) if form is None else form
            for operand, form in zip(op.operands, forms, strict=True)
        )
        return join(first, second)

    def choice(self, op: OnnxOp, left: int) -> Value | None:
        """Select between logarithms if both sides have one."""
        condition, *sides = op.operands
        yes, no = (self.of(side, left) for side in sides)
        return None if yes is None or no is None else self.e(condition).where(yes, no)

    def sum(self, op: OnnxOp, left: int) -> Value | None:
        beside = self.opaque.match_one_plus(op.results[0])
        match beside:
            case value, True, False:
                return self._one_minus(value, left)
            case value, False, True:
                return self._minus_one(value)
            case _:
                return self._exponentials(op)

    def _one_minus(self, value: SSAValue, left: int) -> Value | None:
        """Return log(1 - v) for v a Sigmoid, Exp, squared Tanh, constant, or a Where of these."""
        e, op = self.e, self.opaque.maker(value)
        known = constant_of(value)
        if known is not None and known.size == 1 and float(known.reshape(())) < 1:
            return e(e.emit.constant(np.log1p(-known.astype(np.float64)).astype(known.dtype)))
        match op:
            case onnx.SigmoidOp():
                return -e(op.operands[0]).softplus()
            case onnx.ExpOp() if not self.of_positive:
                return self._one_minus_exponential(e(op.operands[0]))
            case onnx.MulOp() | onnx.PowOp() if (t := self._match_squared_tanh(op)) is not None:
                double = e(t) * 2
                return -(double.softplus() + (-double).softplus()) + math.log(4)
            case onnx.WhereOp() if left:
                yes, no = (self._one_minus(side, left - 1) for side in op.operands[1:])
                return None if yes is None or no is None else e(op.operands[0]).where(yes, no)
            case _:
                return None

    def _minus_one(self, value: SSAValue) -> Value | None:
        """Return log(Exp(t) - 1) = t + log(1 - exp(-t))."""
        t = None if self.of_positive else self.opaque.exponent(value)
        return None if t is None else self.e(t) + self._one_minus_exponential(negative(self.e(t)))

    def _one_minus_exponential(self, t: Value) -> Value:
        """Return log(1 - exp(t)) = log(tanh(-t / 2)) + log(1 + exp(t)), accurate at small t."""
        return (t * -0.5).tanh().log() + t.softplus()

    def _match_squared_tanh(self, op: OnnxOp) -> SSAValue | None:
        first, second = op.operands
        is_square = uniform_number(second, first) == 2 if isinstance(op, onnx.PowOp) else first is second
        return self.opaque.operand(first, onnx.TanhOp) if is_square else None

    def _exponentials(self, op: OnnxOp) -> Value | None:
        """Return log(Exp(s) + Exp(t)) = s + log(1 + exp(t - s)); one term may be a positive number."""
        terms = self.opaque.terms(op.results[0])
        if not terms or any(is_subtracted for _, is_subtracted in terms):
            return None
        (one, _), (other, _) = terms
        exponents = [self._exponent(one), self._exponent(other)]
        if all(t is None or is_at_most_zero(t) for t in exponents):
            return None
        if exponents[0] is None:
            one, other, exponents = other, one, exponents[::-1]
        t, s = exponents
        assert t is not None
        if s is not None:
            return self.e(s) + (self.e(t) - self.e(s)).softplus()
        number = uniform_number(other, one)
        if number is None or number <= 0:
            return None
        offset = math.log(number)
        return self.e(t).softplus() if not offset else (self.e(t) - offset).softplus() + offset

    def _exponent(self, value: SSAValue) -> SSAValue | None:
        """Return t for exp(t), and t log(c) for a power of a positive number c."""
        op = self.opaque.maker(value)
        if not isinstance(op, onnx.PowOp):
            return self.opaque.exponent(value)
        found = self.power(op, 0)
        return None if found is None else found.value

    def power(self, op: OnnxOp, left: int) -> Value | None:
        base, exponent = op.operands
        number = uniform_number(base, exponent)
        if number is None or number <= 0 or element_type_of(base) != element_type_of(exponent):
            return None
        return self.e(exponent) * math.log(number)

    def log_of_sum(self, op: OnnxOp, left: int) -> Value | None:
        t, axes = self._exponent(op.operands[0]), constant_axes(op)
        if t is None or axes is None or is_at_most_zero(t):
            return None
        keepdims = int(keeps_dims(op))
        return self.e(t).apply(onnx.ReduceLogSumExpOp, self.e.ints(axes), keepdims=keepdims)

    def reciprocal(self, op: OnnxOp, left: int) -> Value | None:
        found = self.of(op.operands[0], left)
        return None if found is None else -found

    def hyperbolic_cosine(self, op: OnnxOp, left: int) -> Value | None:
        t = self.e(op.operands[0])
        return t + (t * -2).softplus() - math.log(2)

    def sigmoid(self, op: OnnxOp, left: int) -> Value | None:
        return -negative(self.e(op.operands[0])).softplus()

    def softmax(self, op: OnnxOp, left: int) -> Value | None:
        return self.e(op.operands[0]).apply(onnx.LogSoftmaxOp, **op.onnx_attributes())

    def exponential(self, op: OnnxOp, left: int) -> Value | None:
        return self.e(op.operands[0])


LOGARITHMS: Mapping[str, Callable[[Logarithms, OnnxOp, int], Value | None]] = MappingProxyType(
    {
        "Add": Logarithms.sum,
        "Cosh": Logarithms.hyperbolic_cosine,
        "Div": Logarithms.quotient,
        "Exp": Logarithms.exponential,
        "Mul": Logarithms.product,
        "Neg": Logarithms.sum,
        "Pow": Logarithms.power,
        "Reciprocal": Logarithms.reciprocal,
        "ReduceSum": Logarithms.log_of_sum,
        "Sigmoid": Logarithms.sigmoid,
        "Softmax": Logarithms.softmax,
        "Sub": Logarithms.sum,
        "Where": Logarithms.choice,
    }
)
"""Op type -> the logarithm of its result."""

_MOVES = traits.VIEWS | {"Expand", "Gather", "GatherElements", "GatherND", "Slice", "Tile", "Transpose"}
"""Ops each of whose result elements is an element of the first operand."""
