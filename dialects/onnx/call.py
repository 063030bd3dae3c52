"""An ONNX op instance as plain data: what a shape rule or a numpy kernel is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Attribute

from dialects.support.diagnostics import violation
from dialects.support.shapes import Dim, Shape, UnknownRank, show

Python = int | float | str | list[int] | list[float] | list[str] | np.ndarray | Attribute
"""An attribute's value in Python; an `Attribute` is an element type."""


@dataclass(frozen=True)
class Tensor:
    """What is known of an operand: its shape, and where it is one, its constant value.

    `followed` are the elements of an integer scalar or vector that is short enough to be followed through
    the graph (`values.dims_of`), each as far as it is known: a size that is computed from `Shape` keeps its
    name. None for any other tensor.
    """

    shape: Shape
    value: np.ndarray | None = None
    followed: tuple[Dim, ...] | None = None

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def dims(self) -> tuple[Dim, ...] | None:
        """`followed`, and the elements of a constant integer scalar or vector however long it is: Split may
        have more sizes than a tensor has axes. Made anew each time, since few ops ask."""
        if self.followed is not None or self.value is None:
            return self.followed
        if self.value.ndim > 1 or self.value.dtype.type not in (np.int64, np.int32):
            return None
        return tuple(self.value.reshape(-1).tolist())


class _Unranked(Tensor):
    """An operand of unknown rank, or one that is no tensor: to look at its shape raises UnknownRank."""

    def __init__(self) -> None:
        pass

    def __getattribute__(self, name: str) -> Any:
        if name in ("shape", "rank"):
            raise UnknownRank()
        return super().__getattribute__(name)


UNRANKED: Tensor = _Unranked()


@dataclass(frozen=True)
class Call:
    """An op applied to operands; an optional operand that is not given is None, or beyond the end.

    `ranks` are those that the results are declared with: what tells the rank where only run time knows
    how many axes are added or taken away. Empty for an op that is being made.
    """

    name: str
    operands: tuple[Tensor | None, ...]
    attributes: Mapping[str, Python]
    results: int = 1
    ranks: tuple[int, ...] = ()

    def operand(self, index: int) -> Tensor:
        """An operand that the schema requires."""
        found = self.optional(index)
        if found is None:
            raise violation(f"input {index} of {self.name} is missing")
        return found

    def optional(self, index: int) -> Tensor | None:
        return self.operands[index] if index < len(self.operands) else None

    def unknown(self, what: str, decider: Tensor) -> Shape:
        """The first result's shape where `decider`, an operand, decides its rank at run time.

        UnknownRank where the result is not declared with a rank.
        """
        if not self.ranks:
            raise UnknownRank(f"{what} of {show(decider.shape)} decides a rank that is not declared")
        return (None,) * self.ranks[0]

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute's value, or the schema's default, which the caller states."""
        return self.attributes.get(name, default)


def axis_of(axis: int, rank: int, what: str = "axis") -> int:
    """An axis counted from the front; raises GradcError outside [-rank, rank)."""
    if not -rank <= axis < rank:
        raise violation(what, given=axis, expected=f"[{-rank}, {rank - 1}] for rank {rank}")
    return axis % rank


def axes_of(axes: list[int] | tuple[int, ...], rank: int) -> list[int]:
    """Distinct axes counted from the front, in the given order."""
    found = [axis_of(axis, rank, "axes") for axis in axes]
    if len(set(found)) != len(found):
        raise violation("axes", given=list(axes), expected="no axis twice")
    return found
