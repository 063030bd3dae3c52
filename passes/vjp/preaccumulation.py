"""Preaccumulation: the derivative of a subgraph of pointwise ops with one source, found before the cotangent
comes. GELU, SiLU and hard-swish are such subgraphs, as exporters write them.

y = x * sigmoid(x) reads x by two ways. A reverse walk carries the cotangent through each of them; it is
cheaper to find the derivative of y first, and to multiply it with the cotangent once. The derivative comes
from the rules of the ops themselves, which for what works element by element are their own transposes: so
the conventions at kinks are those of the ops as they are written.
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
from passes.emit.expressions import Expr, Operators
from passes.vjp.common.forward import Forward, Zero
from passes.vjp.reach.estimates import ESTIMATE
from passes.vjp.rules import pointwise

MOST_OPS = 16
"""How far back the one value is looked for: of longer ways back it is not known that they are cheaper."""

NAMES = (traits.UNARY | traits.ARITHMETIC | traits.BOUNDED) & frozenset(pointwise.RULES) - {
    "Cast",
    "CastLike",
}


class Number(float):
    """A derivative that is the same number everywhere: a rule takes it in the place of a cotangent."""

    dtype: Attribute

    @classmethod
    def of(cls, value: float, dtype: Attribute) -> Number:
        number = cls(value)
        number.dtype = dtype
        return number

    def __mul__(self, other: Any):  # pyright: ignore[reportIncompatibleMethodOverride]
        if isinstance(other, Expr):
            return _scaled(other, self)
        return Number.of(float(self) * other, self.dtype)

    def __truediv__(self, other: Any):  # pyright: ignore[reportIncompatibleMethodOverride]
        if isinstance(other, Expr) and (divisor := _number(other)):
            return Number.of(float(self) / divisor, self.dtype)
        return other.__rtruediv__(float(self)) if isinstance(other, Expr) else self * (1 / other)

    def __neg__(self):
        return Number.of(-float(self), self.dtype)

    def cast(self, to: Attribute) -> Number:
        return Number.of(self, to)


Tangent = Number | Expr


@dataclass(frozen=True)
class ElementwiseSubgraph:
    """`ops`, in order, make a value of `source` alone, element by element."""

    source: SSAValue
    ops: Sequence[Operation]

    def derivative(self, e: Operators) -> Tangent:
        """The derivative of the last one's result by the source."""
        known: dict[SSAValue, Tangent] = {self.source: Number.of(1, element_type_of(self.source))}
        for op in self.ops:
            known[op.results[0]] = _tangent(op, known, e)
        return known[self.ops[-1].results[0]]


def _tangent(op: Operation, known: Mapping[SSAValue, Tangent], e: Operators) -> Tangent:
    total: Tangent | None = None
    for moved in dict.fromkeys(value for value in op.operands if value in known):
        for part in _parts(op, moved, known[moved], e):
            total = part if total is None else _sum(total, part)
    return Number.of(0, element_type_of(op.results[0])) if total is None else total


def _parts(op: Operation, moved: SSAValue, tangent: Tangent, e: Operators) -> list[Tangent]:
    """What one operand, at each of its places, adds to the derivative of the result."""
    by_result = _by_result(op, moved, tangent, e)
    if by_result is not None:
        return [by_result]
    assert isinstance(op, OnnxOp)
    operands = op.onnx_inputs()
    wanted = [i for i, value in enumerate(operands) if value is moved]
    forward = Forward(
        e,
        operands=[None if value is None else e(value) for value in operands],
        attributes=op.onnx_attributes(),
        results=[e(op.results[0])],
        wanted=wanted,
    )
    rule = pointwise.RULES[op.onnx_name()]
    found = rule(forward, [tangent], e)  # pyright: ignore[reportArgumentType]
    return [part for part in (found[i] for i in wanted) if not isinstance(part, Zero)]


def _by_result(op: Operation, moved: SSAValue, tangent: Tangent, e: Operators) -> Expr | None:
    """Of y = a s, where the derivative of s is s r, as that of a sigmoid is: y r, less work than a (s r)."""
    if not isinstance(op, onnx.MulOp) or op.A is op.B or not isinstance(tangent, Expr):
        return None
    rest = _rest(tangent, moved)
    if rest is not None:
        return e(op.C) * rest
    product, number = _fresh_factors(tangent)
    rest = None if product is None or number is None or _number(number) is None else _rest(product, moved)
    return None if rest is None or number is None else e(op.C) * rest * number


def _rest(product: Expr, factor: SSAValue) -> Expr | None:
    """The other factor."""
    one, other = _fresh_factors(product)
    if one is None or other is None or factor not in (one.value, other.value):
        return None
    return other if one.value is factor else one


def _fresh_factors(value: Expr) -> tuple[Expr, Expr] | tuple[None, None]:
    """Of a product that is in no block yet."""
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


def _number(value: Expr) -> float | None:
    """The number that an expression is, None if it is not known, or if there are several."""
    known = constant_of(value.value)
    return None if known is None or known.size != 1 else float(known.reshape(()))


def _scaled(value: Expr, factor: Number) -> Tangent:
    """A product with a number, which joins one that was just multiplied with."""
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
    """The values that each value comes from alone, element by element, nearest first."""

    def __init__(
        self,
        ops: Sequence[Operation],
        flows: Collection[SSAValue],
        wrt: Collection[SSAValue],
        names: Collection[str] = NAMES,
        unbounded: Collection[Operation] = (),
    ):
        self._before: dict[SSAValue, tuple[SSAValue, ...]] = {}
        self._order = {op: i for i, op in enumerate(ops)}
        self._flows = flows
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
        """The operands that depend on `wrt`; none if the op is no such op, or repeats one of them.

        A product with the derivative of an op of `unbounded` could be 0 times an inf.
        """
        if op in self._unbounded:
            return []
        if not isinstance(op, OnnxOp) or op.onnx_name() not in self._names or not has_rank(op.results[0]):
            return []
        if ESTIMATE in op.attributes:
            return []
        found = list(dict.fromkeys(value for value in op.operands if value in self._flows))
        type_ = op.results[0].type
        alike = all(value.type == type_ for value in found)
        return found if alike and None not in shape_of(op.results[0]) else []

    def subgraph_ending_at(self, op: Operation) -> ElementwiseSubgraph | None:
        """The ops that end in this one, if it is where several ways from one value meet."""
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
