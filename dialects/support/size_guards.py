"""Conditions on dynamic sizes that a verifier cannot check at compile time, collected for later.

Verifiers state conditions on sizes through these functions. Static sizes are checked at once. Conditions on
dynamic ones are not errors; `collect` returns them as ranges of size expressions.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from dialects.shapes.forms import Size, TooComplex
from dialects.shapes.sizes import floordiv, largest, smallest
from dialects.support.constants import constant_value
from dialects.support.scoped_contextvar import override_context
from dialects.support.shapes import Dim, compatible, same_dim

SIZE_LIMIT = 2**30
"""A bound that no size reaches; the sum of two fits into 32 bits, which some runtimes truncate to."""


@dataclass(frozen=True)
class SizeGuard:
    """The condition low <= form <= high; `what` names the form in messages."""

    what: str
    form: Size
    low: int
    high: int


@dataclass
class SizeGuards:
    """Conditions that verifiers state. `elements` holds the values of operands that are sizes or axes."""

    elements: Mapping[SSAValue, Sequence[Dim]]
    found: list[SizeGuard] = field(default_factory=list[SizeGuard])
    unstated: list[str] = field(default_factory=list[str])
    """Names of conditions on sizes without an expression."""


_COLLECTING: ContextVar[SizeGuards | None] = ContextVar("collecting", default=None)


@contextmanager
def collect(elements: Mapping[SSAValue, Sequence[Dim]]) -> Generator[SizeGuards]:
    """Collect the conditions of the verifiers that run in the block."""
    demands = SizeGuards(elements)
    with override_context(_COLLECTING, demands):
        yield demands


def is_collecting() -> bool:
    return _COLLECTING.get() is not None


def elements_of(value: SSAValue) -> Sequence[Dim] | None:
    """Return the elements of an operand that holds sizes or axes; None if they are unknown."""
    constant = constant_value(value)
    if constant is not None:
        return [int(element) for element in constant.ravel()]
    demands = _COLLECTING.get()
    return None if demands is None else demands.elements.get(value)


def between(what: str, dim: Dim, low: int = 0, high: int = SIZE_LIMIT) -> None:
    """Record low <= dim <= high for a dynamic size. Verifiers check static ones."""
    demands = _COLLECTING.get()
    if demands is None or isinstance(dim, int):
        return
    if dim is None:
        demands.unstated.append(what)
    else:
        demands.found.append(SizeGuard(what, dim, low, high))


def positive(what: str, dim: Dim) -> None:
    between(what, dim, 1)


def equal(what: str, a: Dim, b: Dim) -> bool:
    """Return False if two dims certainly differ; record the condition otherwise."""
    if not is_collecting() or a is None or b is None:
        return same_dim(a, b)
    between(what, _difference(a, b), 0, 0)
    return same_dim(a, b)


def _difference(a: int | Size, b: int | Size) -> Dim:
    try:
        return a - b
    except TooComplex:
        return None


def equal_shapes(what: str, a: Sequence[Dim], b: Sequence[Dim]) -> bool:
    """Apply `equal` to each axis of two shapes."""
    if not is_collecting() or not compatible(a, b):
        return compatible(a, b)
    for axis, (x, y) in enumerate(zip(a, b, strict=True)):
        equal(f"axis {axis} of {what}", x, y)
    return True


def broadcast(a: int | Size, b: int | Size) -> Dim:
    """Return the broadcast of two sizes, neither the number 1; record that they are equal or one is 1."""
    try:
        low, high = smallest(a, b), largest(a, b)
        wrong = smallest(high - low, 1) * _is_not_one(low) * _is_not_one(high)
        together = high * smallest(low, 1)
    except TooComplex:
        wrong = together = None
    between("sizes that broadcast", wrong, 0, 0)
    if isinstance(a, int) or isinstance(b, int):
        return a if isinstance(a, int) else b
    return together


def _is_not_one(size: int | Size) -> int | Size:
    return smallest(largest(size - 1, 1 - size), 1)


def divides(what: str, divisor: int, dim: Dim) -> None:
    """Record that a number divides a size."""
    if isinstance(dim, Size) and is_collecting():
        between(what, dim - floordiv(dim, divisor) * divisor, 0, 0)
