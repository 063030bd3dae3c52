"""The form of derivatives that CasADi reads: matrices in column-major order, and seeds as columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, Self

import numpy as np

from gradc.verification.gradient_spec import Arrays, Written

MATRIX = 2
"""The rank that CasADi reads as a matrix; a tensor of another rank is a column of its elements."""


def vector_order(shape: Sequence[int]) -> list[int]:
    """Return the order of a tensor's axes in which CasADi stacks its elements."""
    order = list(range(len(shape)))
    return order[::-1] if len(shape) == MATRIX else order


@dataclass(frozen=True)
class WrittenCasadi(Written):
    """Inputs, and results of one value, are rows side by side; results of two values are matrices.

    one: the form before. shapes: input or result -> the shapes of its values.
    """

    one: Written = field(default_factory=lambda: Written({}, {}))
    shapes: Mapping[str, Sequence[Sequence[int]]] = field(default_factory=dict[str, Sequence[Sequence[int]]])

    def renamed(self, names: Mapping[str, str]) -> Self:
        shapes = {names.get(name, name): shape for name, shape in self.shapes.items()}
        return replace(super().renamed(names), one=self.one.renamed(names), shapes=shapes)

    def feeds(self, cotangents: Arrays) -> dict[str, Any]:
        found = self.one.feeds(cotangents)
        return {name: _columns(array, self.shapes[name][0]) for name, array in found.items()}

    def read(self, results: Arrays, cotangents: Arrays) -> dict[str, np.ndarray]:
        one = replace(self.one, factors=self.factors)
        return one.read({name: self._before(name, array) for name, array in results.items()}, cotangents)

    def _before(self, name: str, array: np.ndarray) -> np.ndarray:
        """Return a result in the form before."""
        shapes = self.shapes.get(name)
        if shapes is None:
            return array
        return _rows(array, shapes[0]) if len(shapes) == 1 else _block(array, *shapes)


def _columns(rows: Any, shape: Sequence[int]) -> np.ndarray:
    """Return rows side by side."""
    count = np.shape(rows)[0]
    if len(shape) == MATRIX:
        return np.moveaxis(rows, 0, 1).reshape(shape[0], count * shape[1])
    return np.reshape(rows, (count, prod(shape))).T


def _rows(columns: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Return what is side by side as rows."""
    if len(shape) == MATRIX:
        count = columns.shape[1] // shape[1]
        return np.moveaxis(columns.reshape(shape[0], count, shape[1]), 1, 0)
    return columns.T.reshape(-1, *shape)


def _block(matrix: np.ndarray, of: Sequence[int], wrt: Sequence[int]) -> np.ndarray:
    """Return a matrix as a block whose axes are those of both values."""
    orders = [vector_order(shape) for shape in (of, wrt)]
    stacked = [shape[axis] for shape, order in zip((of, wrt), orders, strict=True) for axis in order]
    first = np.argsort(orders[0])
    second = len(of) + np.argsort(orders[1])
    return matrix.reshape(stacked).transpose([*first, *second])
