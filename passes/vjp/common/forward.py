"""What a rule is told of the op whose derivative it gives.

    rule(f, g, e) -> one value, or ZERO, for each operand

`f` is the forward op, `g` has the cotangents of its results, `e` makes expressions. What a rule returns has
the shape of the result, before the sum over axes along which the operand was broadcast: who asks adds up.

A result that nobody reads has a cotangent of zeros, which are emitted if a rule asks for it: rules of ops
with several results ask `f.is_read` first. A form of the op that has no rule is refused with `refusal`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from dialects.support.diagnostics import UnsupportedError, violation
from passes.emit.expressions import Expr, Operators


class Zero:
    """A gradient that is 0 whatever the cotangents are: nothing is emitted for it."""

    def __repr__(self) -> str:
        return "ZERO"


ZERO: Final = Zero()

Gradient: TypeAlias = Expr | Zero


@dataclass(frozen=True)
class Convention:
    """Where a derivative jumps, one reading of several.

    `strict_bounds`: at its bounds a clamp passes nothing on (oneDNN), rather than everything (ONNX, torch).
    """

    strict_bounds: bool = False


@dataclass
class Forward:
    """A forward op, as far as it is known.

    A reverse walk knows all of it. The conversion of a backward kind has what its document gives: the
    operands, or, where the rule can do with that, the result in the place of the one operand. A result that
    is not there is emitted when it is first asked for.
    """

    e: Operators
    operands: Sequence[Expr | None]
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    results: list[Expr | None] = field(default_factory=lambda: [None])
    emit: Callable[[], Sequence[Expr]] | None = None
    convention: Convention = Convention()
    wanted: Collection[int] | None = None
    """The operands whose gradients are asked for; None for all. What is not wanted may be ZERO."""
    read: Collection[int] | None = None
    """The results that have a cotangent; None for all."""

    def wants(self, index: int) -> bool:
        return self.wanted is None or index in self.wanted

    def is_read(self, index: int) -> bool:
        return self.read is None or index in self.read

    @property
    def x(self) -> Expr:
        """The first operand; an error where only the result was given."""
        assert self.operands[0] is not None, "the rule needs the operand"
        return self.operands[0]

    @property
    def has_operand(self) -> bool:
        return self.operands[0] is not None

    @property
    def has_result(self) -> bool:
        return self.results[0] is not None

    @property
    def y(self) -> Expr:
        """The first result."""
        found = self.results[0]
        if found is None:
            assert self.emit is not None, "the rule needs the result"
            self.results = list(self.emit())
            found = self.results[0]
            assert found is not None
        return found

    def given(self, index: int) -> Expr | None:
        """A result that is there already, None if the rule has to make it."""
        return self.results[index] if index < len(self.results) else None

    def operand(self, index: int) -> Expr | None:
        """An operand, None if it is absent."""
        return self.operands[index] if index < len(self.operands) else None

    def value(self, name: str, default: Any = None) -> Any:
        """An attribute, or the default that the ONNX schema has for it."""
        return self.attributes.get(name, default)


Rule: TypeAlias = Callable[[Forward, Sequence[Expr], Operators], Sequence[Gradient]]

Body: TypeAlias = Callable[[Forward, Operators], Sequence[Expr]]
"""The results of an op, made of ops that have rules."""


def refusal(what: str, given: object = None, expected: object = None, hint: str = "") -> UnsupportedError:
    """The error for a form of an op that its rule does not cover; the walk says which op it is."""
    return UnsupportedError(violation(what, given=given, expected=expected, hint=hint).diagnostic)
