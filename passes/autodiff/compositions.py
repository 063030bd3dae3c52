"""Matchers of composed functions: sums with 1, exponentials and their bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.call import axes_of
from dialects.onnx.values import constant_of
from dialects.support.shapes import has_rank, shape_of
from passes.builder.values import Value


@dataclass(frozen=True)
class Opaque:
    """Values and op types at which patterns stop."""

    values: frozenset[SSAValue]
    names: frozenset[str]

    def maker(self, value: SSAValue) -> OnnxOp | None:
        """Return the defining op of a value, if a pattern may include it."""
        op = value.owner
        if value in self.values or not isinstance(op, OnnxOp) or self.excludes(op):
            return None
        return op

    def excludes(self, op: Operation) -> bool:
        return isinstance(op, OnnxOp) and op.onnx_name() in self.names

    def operand(self, value: SSAValue, cls: type[OnnxOp]) -> SSAValue | None:
        """Return the first operand of the defining op of class `cls`."""
        op = self.maker(value)
        return op.operands[0] if isinstance(op, cls) else None

    def exponent(self, value: SSAValue) -> SSAValue | None:
        """Return t for Exp(t)."""
        return self.operand(value, onnx.ExpOp)

    def terms(self, value: SSAValue) -> list[tuple[SSAValue, bool]]:
        """Return the two terms of a sum or difference, each with whether it is subtracted; else none."""
        op, is_negated = self.maker(value), False
        while isinstance(op, onnx.NegOp):
            op, is_negated = self.maker(op.operands[0]), not is_negated
        if isinstance(op, onnx.AddOp):
            terms = [self._split_sign(operand) for operand in op.operands]
        elif isinstance(op, onnx.SubOp):
            terms = [(op.operands[0], False), (op.operands[1], True)]
        else:
            return []
        return [(term, is_subtracted is not is_negated) for term, is_subtracted in terms]

    def _split_sign(self, value: SSAValue) -> tuple[SSAValue, bool]:
        inner = self.operand(value, onnx.NegOp)
        return (value, False) if inner is None else (inner, True)

    def match_one_plus(self, value: SSAValue) -> tuple[SSAValue, bool, bool] | None:
        """Match 1 + v: return v, whether v is subtracted, and whether the 1 is; else None."""
        terms = self.terms(value)
        for (one, is_minus), (other, is_subtracted) in (terms, terms[::-1]) if terms else ():
            if uniform_number(one, other) == 1:
                return other, is_subtracted, is_minus
        return None

    def one_plus_exponent(self, value: SSAValue) -> SSAValue | None:
        """Return t for 1 + Exp(t)."""
        match self.match_one_plus(value):
            case other, False, False:
                return self.exponent(other)
            case _:
                return None


def uniform_number(value: SSAValue, other: SSAValue) -> float | None:
    """Return the number in a uniform constant that does not broadcast `other`."""
    known = constant_of(value)
    if known is None or not known.size or not has_rank(other):
        return None
    sizes = shape_of(other)
    is_small = known.size == 1 and known.ndim <= len(sizes)
    if not is_small and tuple(sizes) != known.shape:
        return None
    first = known.reshape(-1)[0]
    return float(first) if bool((known == first).all()) else None


def negative(x: Value) -> Value:
    """Return -x, without a double negation."""
    inner = x.value.owner
    return x.e(inner.operands[0]) if isinstance(inner, onnx.NegOp) else -x


def is_at_most_zero(value: SSAValue) -> bool:
    """Return whether no element is positive, so that Exp does not overflow."""
    op = value.owner
    match op:
        case onnx.NegOp():
            inner = op.operands[0].owner
            if isinstance(inner, onnx.MulOp):
                return inner.operands[0] is inner.operands[1]
            return isinstance(inner, onnx.AbsOp | onnx.ReluOp | onnx.SoftplusOp)
        case onnx.SubOp():
            greatest = op.operands[1].owner
            return isinstance(greatest, onnx.ReduceMaxOp) and greatest.operands[0] is op.operands[0]
        case onnx.MinOp():
            return any(_is_not_positive(operand) for operand in op.operands)
        case _:
            return False


def _is_not_positive(value: SSAValue) -> bool:
    known = constant_of(value)
    return known is not None and bool((known <= 0).all())


def constant_axes(op: OnnxOp) -> Sequence[int] | None:
    """Return the axes of a reduction if they are constant."""
    inputs = op.onnx_inputs()
    known = constant_of(axes) if len(inputs) > 1 and (axes := inputs[1]) is not None else None
    if known is None or not known.size or not has_rank(op.operands[0]):
        return None
    return axes_of([int(axis) for axis in known], len(shape_of(op.operands[0])))


def keeps_dims(op: OnnxOp) -> bool:
    return bool(op.onnx_attributes().get("keepdims", 1))
