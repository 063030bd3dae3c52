"""Forms in which a compiled model has a derivative, for its comparison with the checked one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from gradc.verification.gradient_spec import Arrays, Written

DRAWN_ROWS = 3
"""Number of rows of an axis of dynamic size."""


@dataclass(frozen=True)
class WrittenRows(Written):
    """Cotangents and gradients have a leading axis of `rows`; None if its size is dynamic."""

    rows: int | None = None

    def feeds(self, cotangents: Arrays) -> dict[str, Any]:
        """Return multiples of the cotangents as rows."""
        return {
            name: np.multiply.outer(self._factors, array) if isinstance(array, np.ndarray) else array
            for name, array in super().feeds(cotangents).items()
        }

    def read(self, results: Arrays, cotangents: Arrays) -> dict[str, np.ndarray]:
        """Return a mean of all rows, each divided by the multiple of its cotangent."""
        weights = 1 / self._factors / len(self._factors)
        read = super().read(results, cotangents).items()
        return {
            name: np.tensordot(weights, array, 1) for name, array in read if isinstance(array, np.ndarray)
        }

    @property
    def _factors(self) -> np.ndarray:
        count = DRAWN_ROWS if self.rows is None else self.rows
        return np.where(np.arange(count) % 2, -1.0, 1.0) * (1 + np.arange(count) / max(count, 1))


@dataclass(frozen=True)
class WrittenBlocks(Written):
    """Each result is a block of the matrix that takes cotangents to gradients.

    blocks: names of a cotangent and a gradient -> result, whose first axes are those of the cotangent, or
    with `columns` its last.
    """

    blocks: Mapping[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    columns: bool = False

    def renamed(self, names: Mapping[str, str]) -> Self:
        blocks = {key: names.get(name, name) for key, name in self.blocks.items()}
        return replace(super().renamed(names), blocks=blocks)

    def read(self, results: Arrays, cotangents: Arrays) -> dict[str, np.ndarray]:
        found: dict[str, np.ndarray] = {}
        unread = {to for (_, to), name in self.blocks.items() if not self.factors.get(name, 1.0)}
        for (cotangent, to), name in self.blocks.items():
            if to not in unread:
                part = self._product(cotangents[cotangent], self.unscaled(name, results))
                found[to] = found[to] + part if to in found else part
        return found

    def _product(self, cotangent: np.ndarray, block: np.ndarray) -> np.ndarray:
        count = np.ndim(cotangent)
        if self.columns:
            return np.tensordot(block, cotangent, count)
        return np.tensordot(cotangent, block, count)
