"""An ONNX op instance as plain data: the input of shape rules and numpy kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Attribute

from dialects.support.diagnostics import violation
from dialects.support.shapes import Dim, Shape, UnknownRank, show

Python = int | float | str | list[int] | list[float] | list[str] | np.ndarray | Attribute
"""The Python value of an attribute; an `Attribute` is an element type."""


@dataclass(frozen=True)
class Tensor:
    """Compile-time knowledge of an operand: its shape, and its value if constant.

    `followed` holds the elements of a short integer scalar or vector as far as `values.dims_of` can trace
    them through the graph: a size that is computed from `Shape` keeps its name. None for any other tensor.
    """

    shape: Shape
    value: np.ndarray | None = None
    followed: tuple[Dim, ...] | None = None

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def dims(self) -> tuple[Dim, ...] | None:
        """`followed`, or the elements of a constant integer scalar or vector of any length, as of Split. Not
        cached, since few ops need it."""
        if self.followed is not None or self.value is None:
            return self.followed
        if self.value.ndim > 1 or self.value.dtype.type not in (np.int64, np.int32):
            return None
        return tuple(self.value.reshape(-1).tolist())


class _Unranked(Tensor):
    """An operand of unknown rank, or not a tensor; reading its shape raises UnknownRank."""

    def __init__(self) -> None:
        pass

    def __getattribute__(self, name: str) -> Any:
        if name in ("shape", "rank"):
            raise UnknownRank()
        return super().__getattribute__(name)


UNRANKED: Tensor = _Unranked()


@dataclass(frozen=True)
class Call:
    """An op applied to operands; an absent optional operand is None, or beyond the end.

    `ranks` are the declared ranks of the results, which determine the rank if the number of added or removed
    axes is dynamic. Empty for an op under construction.
    """

    name: str
    operands: tuple[Tensor | None, ...]
    attributes: Mapping[str, Python]
    results: int = 1
    ranks: tuple[int, ...] = ()

    def operand(self, index: int) -> Tensor:
        """Return a required operand."""
        found = self.optional(index)
        if found is None:
            raise violation(f"input {index} of {self.name} is missing")
        return found

    def optional(self, index: int) -> Tensor | None:
        return self.operands[index] if index < len(self.operands) else None

    def unknown(self, what: str, decider: Tensor) -> Shape:
        """Return an all-dynamic shape of the first result, whose rank the value of `decider` determines.

        Raises UnknownRank if no rank is declared.
        """
        if not self.ranks:
            raise UnknownRank(f"{what} of {show(decider.shape)} decides a rank that is not declared")
        return (None,) * self.ranks[0]

    def attribute(self, name: str, default: Any = None) -> Any:
        """Return an attribute's value, or `default`, which must be the schema's."""
        return self.attributes.get(name, default)


def axis_of(axis: int, rank: int, what: str = "axis") -> int:
    """Return a non-negative axis; raises GradcError outside [-rank, rank)."""
    if not -rank <= axis < rank:
        raise violation(what, given=axis, expected=f"[{-rank}, {rank - 1}] for rank {rank}")
    return axis % rank


def axes_of(axes: list[int] | tuple[int, ...], rank: int) -> list[int]:
    """Return distinct axes as non-negative indices, in the given order."""
    found = [axis_of(axis, rank, "axes") for axis in axes]
    if len(set(found)) != len(found):
        raise violation("axes", given=list(axes), expected="no axis twice")
    return found
