"""Preaccumulation: local derivatives of pointwise subgraphs with one source.

GELU, SiLU and hard-swish are such subgraphs as exporters write them. y = x * sigmoid(x) reads x by two paths.
Computing dy/dx first and multiplying it with the cotangent once costs less than a cotangent on each path.
Conventions at kinks are those of the single ops.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Attribute, Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx import traits
from dialects.onnx.base import OnnxOp
from dialects.onnx.values import constant_of
from dialects.support.shapes import element_type_of, has_rank, shape_of
from passes.autodiff.activity.straight_through_marks import ESTIMATE
from passes.autodiff.common.primal import Primal, Zero
from passes.autodiff.rules import pointwise
from passes.builder.values import Builder, Value

MOST_OPS = 16
"""Size limit; larger subgraphs are not known to gain."""

NAMES = (traits.UNARY | traits.ARITHMETIC | traits.BOUNDED) & frozenset(pointwise.RULES) - {
    "Cast",
    "CastLike",
}


class Number(float):
    """A derivative that is the same number everywhere; rules accept it as a cotangent."""

    dtype: Attribute

    @classmethod
    def of(cls, value: float, dtype: Attribute) -> Number:
        number = cls(value)
        number.dtype = dtype
        return number

    def __mul__(self, other: Any):  # pyright: ignore[reportIncompatibleMethodOverride]
        if isinstance(other, Value):
            return _scale(other, self)
        return Number.of(float(self) * other, self.dtype)

    def __truediv__(self, other: Any):  # pyright: ignore[reportIncompatibleMethodOverride]
        if isinstance(other, Value) and (divisor := _number(other)):
            return Number.of(float(self) / divisor, self.dtype)
        return other.__rtruediv__(float(self)) if isinstance(other, Value) else self * (1 / other)

    def __neg__(self):
        return Number.of(-float(self), self.dtype)

    def cast(self, to: Attribute) -> Number:
        return Number.of(self, to)


Tangent = Number | Value


@dataclass(frozen=True)
class ElementwiseSubgraph:
    """`ops`, in order, compute a value elementwise from `source` alone."""

    source: SSAValue
    ops: Sequence[Operation]

    def derivative(self, e: Builder) -> Tangent:
        """Return the derivative of the last op's result by the source."""
        known: dict[SSAValue, Tangent] = {self.source: Number.of(1, element_type_of(self.source))}
        for op in self.ops:
            known[op.results[0]] = _tangent(op, known, e)
        return known[self.ops[-1].results[0]]


def _tangent(op: Operation, known: Mapping[SSAValue, Tangent], e: Builder) -> Tangent:
    total: Tangent | None = None
    for moved in dict.fromkeys(value for value in op.operands if value in known):
        for part in _parts(op, moved, known[moved], e):
            total = part if total is None else _sum(total, part)
    return Number.of(0, element_type_of(op.results[0])) if total is None else total


def _parts(op: Operation, moved: SSAValue, tangent: Tangent, e: Builder) -> list[Tangent]:
    """Return the terms that one operand, at each of its positions, adds to the derivative."""
    by_result = _by_result(op, moved, tangent, e)
    if by_result is not None:
        return [by_result]
    assert isinstance(op, OnnxOp)
    operands = op.onnx_inputs()
    wanted = [i for i, value in enumerate(operands) if value is moved]
    forward = Primal(
        e,
        operands=[None if value is None else e(value) for value in operands],
        attributes=op.onnx_attributes(),
        results=[e(op.results[0])],
        wanted=wanted,
    )
    rule = pointwise.RULES[op.onnx_name()]
    found = rule(forward, [tangent], e)  # pyright: ignore[reportArgumentType]
    return [part for part in (found[i] for i in wanted) if not isinstance(part, Zero)]


def _by_result(op: Operation, moved: SSAValue, tangent: Tangent, e: Builder) -> Value | None:
    """For y = a s with ds = s r (as for a sigmoid), return y r, cheaper than a (s r)."""
    if not isinstance(op, onnx.MulOp) or op.A is op.B or not isinstance(tangent, Value):
        return None
    rest = _rest(tangent, moved)
    if rest is not None:
        return e(op.C) * rest
    product, number = _fresh_factors(tangent)
    rest = None if product is None or number is None or _number(number) is None else _rest(product, moved)
    return None if rest is None or number is None else e(op.C) * rest * number


def _rest(product: Value, factor: SSAValue) -> Value | None:
    """Return the other factor of an emitted product, or None."""
    one, other = _fresh_factors(product)
    if one is None or other is None or factor not in (one.value, other.value):
        return None
    return other if one.value is factor else one


def _fresh_factors(value: Value) -> tuple[Value, Value] | tuple[None, None]:
    """Return the factors of a product that is not in a block yet."""
    made = value.value.owner
    if not isinstance(made, onnx.MulOp) or made.parent is not None:
        return None, None
    return value.e(made.A), value.e(made.B)


def _sum(a: Tangent, b: Tangent) -> Tangent:
    if isinstance(b, Number):
        a, b = b, a
    if not isinstance(a, Number):
        return a + b
    return Number.of(float(a) + float(b), a.dtype) if isinstance(b, Number) else b + float(a)


def _number(value: Value) -> float | None:
    """Return the value of a constant of one element, else None."""
    known = constant_of(value.value)
    return None if known is None or known.size != 1 else float(known.reshape(()))


def _scale(value: Value, factor: Number) -> Tangent:
    """Multiply by a number, merging it with a factor of the last product."""
    if factor == 1:
        return value
    if (known := _number(value)) is not None:
        return factor * known
    made = value.value.owner
    if isinstance(made, onnx.MulOp) and made.parent is None:
        inner, own = (value.e(operand) for operand in made.operands)
        if (known := _number(own)) is not None:
            return inner * (known * float(factor))
    return value * float(factor)


class Sources:
    """For each value, the values that it alone depends on elementwise, nearest first."""

    def __init__(
        self,
        ops: Sequence[Operation],
        active_values: Collection[SSAValue],
        wrt: Collection[SSAValue],
        names: Collection[str] = NAMES,
        unbounded: Collection[Operation] = (),
    ):
        self._before: dict[SSAValue, tuple[SSAValue, ...]] = {}
        self._order = {op: i for i, op in enumerate(ops)}
        self._active_values = active_values
        self._wrt = wrt
        self._names = names
        self._unbounded = unbounded
        for op in ops:
            if op.results:
                self._before[op.results[0]] = self._of(op)

    def _of(self, op: Operation) -> tuple[SSAValue, ...]:
        operands = self._carrying(op)
        if not operands or op.results[0] in self._wrt:
            return ()
        first, *others = [(value, *self._before.get(value, ())) for value in operands]
        common = [value for value in first if all(value in other for other in others)]
        return tuple(common[:MOST_OPS])

    def _carrying(self, op: Operation) -> list[SSAValue]:
        """Return the active operands of a preaccumulable op; none for others.

        Ops of `unbounded` are excluded: their derivative could multiply 0 by inf.
        """
        if op in self._unbounded:
            return []
        if not isinstance(op, OnnxOp) or op.onnx_name() not in self._names or not has_rank(op.results[0]):
            return []
        if ESTIMATE in op.attributes:
            return []
        found = list(dict.fromkeys(value for value in op.operands if value in self._active_values))
        type_ = op.results[0].type
        alike = all(value.type == type_ for value in found)
        return found if alike and None not in shape_of(op.results[0]) else []

    def subgraph_ending_at(self, op: Operation) -> ElementwiseSubgraph | None:
        """Return the subgraph ending at an op where several paths from one value meet, or None."""
        operands = self._carrying(op)
        if sum(value in operands for value in op.operands) < 2 or not (sources := self._of(op)):
            return None
        source = sources[0]
        ops, waiting = {op}, [op]
        while waiting:
            for value in self._carrying(waiting.pop()):
                made = value.owner
                if value is not source and isinstance(made, Operation) and made not in ops:
                    ops.add(made)
                    waiting.append(made)
        if len(ops) > MOST_OPS:
            return None
        return ElementwiseSubgraph(source, sorted(ops, key=self._order.__getitem__))
