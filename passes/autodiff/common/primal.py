"""The interface of VJP rules: the primal op, ZERO, and refusals.

    rule(f, g, e) -> one value, or ZERO, for each operand

`f` is the primal op, `g` the cotangents of its results, `e` the builder. A returned gradient has the result's
shape; the caller sums it over the axes along which the operand was broadcast.

The cotangent of an unused result is zeros, emitted only if the rule reads it, so rules of ops with several
results check `f.is_read` first. A rule raises `refusal` for a variant of the op that it does not cover.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar

from dialects.onnx.base import OnnxOp
from dialects.support.diagnostics import UnsupportedError, violation
from passes.builder.values import Builder, Value

OpT = TypeVar("OpT", bound=OnnxOp)


class Zero:
    """A gradient that is 0 for all cotangents: nothing is emitted for it."""

    def __repr__(self) -> str:
        return "ZERO"


ZERO: Final = Zero()

Gradient: TypeAlias = Value | Zero


@dataclass(frozen=True)
class Convention:
    """Choices at points where the derivative jumps.

    `strict_bounds`: at its bounds a clamp has derivative 0 (oneDNN), not 1 (ONNX, torch).
    """

    strict_bounds: bool = False


@dataclass
class Primal:
    """The op that a rule differentiates: operands, results, attributes.

    A reverse walk knows all of it. The lowering of a backward primitive knows what the document gives: the
    operands or, for rules that can use it instead of the only operand, the result. A missing result is
    emitted when it is first read.
    """

    e: Builder
    operands: Sequence[Value | None]
    """The operands; None for an absent one."""
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The given attributes, as Python values."""
    results: list[Value | None] = field(default_factory=lambda: [None])
    """The results."""
    emit: Callable[[], Sequence[Value]] | None = None
    convention: Convention = Convention()
    wanted: Collection[int] | None = None
    """Indices of operands whose gradients are requested; None for all. Others may be ZERO."""
    read: Collection[int] | None = None
    """Indices of results that have a cotangent; None for all."""
    source: OnnxOp | None = None
    """The op itself, for a decomposition that depends on its users or on dynamic shapes."""

    @classmethod
    def of(cls, op: OnnxOp, e: Builder) -> Primal:
        operands = [None if value is None else e(value) for value in op.onnx_inputs()]
        return cls(e, operands, op.onnx_attributes(), [e(result) for result in op.results], source=op)

    @property
    def op(self) -> OnnxOp:
        assert self.source is not None, "the decomposition needs the op"
        return self.source

    def op_as(self, kind: type[OpT]) -> OpT:
        """Return the op, which is of this class."""
        assert isinstance(self.source, kind), f"the decomposition is one of {kind.__name__}"
        return self.source

    def wants(self, index: int) -> bool:
        """Return whether the gradient of an operand is requested; others may be ZERO."""
        return self.wanted is None or index in self.wanted

    def is_read(self, index: int) -> bool:
        """Return whether a result has a cotangent; that of an unused result is zeros."""
        return self.read is None or index in self.read

    @property
    def x(self) -> Value:
        """The first operand."""
        assert self.operands[0] is not None, "the rule needs the operand"
        return self.operands[0]

    @property
    def has_operand(self) -> bool:
        return self.operands[0] is not None

    @property
    def has_result(self) -> bool:
        return self.results[0] is not None

    @property
    def y(self) -> Value:
        """The first result."""
        found = self.results[0]
        if found is None:
            assert self.emit is not None, "the rule needs the result"
            self.results = list(self.emit())
            found = self.results[0]
            assert found is not None
        return found

    def result_or_none(self, index: int) -> Value | None:
        """Return a result that already exists, or None if the rule has to emit it."""
        return self.results[index] if index < len(self.results) else None

    def operand(self, index: int) -> Value | None:
        """Return an operand, or None if it is absent."""
        return self.operands[index] if index < len(self.operands) else None

    def required(self, index: int) -> Value:
        """Return an operand that the op's declaration requires."""
        found = self.operand(index)
        assert found is not None, f"operand {index} is required"
        return found

    def value(self, name: str, default: Any = None) -> Any:
        """Return an attribute, or `default` if it is not given."""
        return self.attributes.get(name, default)


Rule: TypeAlias = Callable[[Primal, Sequence[Value], Builder], Sequence[Gradient]]


def refusal(what: str, given: object = None, expected: object = None, hint: str = "") -> UnsupportedError:
    """Return the error for a variant that a rule does not cover; the walk adds the op's name."""
    return UnsupportedError(violation(what, given=given, expected=expected, hint=hint).diagnostic)
