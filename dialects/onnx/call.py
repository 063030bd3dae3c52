"""An ONNX op instance as plain data: what a shape rule or a numpy kernel is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Attribute

from dialects.support.diagnostics import violation
from dialects.support.shapes import Dim, Shape

Python = int | float | str | list[int] | list[float] | np.ndarray | Attribute
"""An attribute's value in Python; an `Attribute` is an element type."""


@dataclass(frozen=True)
class Tensor:
    """What is known of an operand: its shape, and where it is one, its constant value.

    `dims` are the elements of an integer scalar or vector of known length, each as far as it is
    known: a size that is computed from `Shape` keeps its name. None for any other tensor.
    """

    shape: Shape
    value: np.ndarray | None = None
    dims: tuple[Dim, ...] | None = None

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass(frozen=True)
class Call:
    """An op applied to operands; an optional operand that is not given is None, or beyond the end."""

    name: str
    operands: tuple[Tensor | None, ...]
    attributes: Mapping[str, Python]
    results: int = 1

    def operand(self, index: int) -> Tensor:
        """An operand that the schema requires."""
        found = self.optional(index)
        if found is None:
            raise violation(f"input {index} of {self.name} is missing")
        return found

    def optional(self, index: int) -> Tensor | None:
        return self.operands[index] if index < len(self.operands) else None

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
