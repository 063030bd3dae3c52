"""Form of a compiled model that has the diagonal or the trace of a Hessian, for its check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Self

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from dialects.support.diagnostics import Diagnostic
from gradc.verification.compiled_model import Model, distance
from gradc.verification.gradient_spec import Arrays, CheckError, Written
from gradc.verification.written_forms import WrittenHessian

EXACT = 1e-5
"""Largest relative difference of a diagonal, whose constants are f32."""


@dataclass(frozen=True)
class WrittenDiagonals(WrittenHessian):
    """The results are diagonals and traces of the blocks that `whole` computes from the same inputs.

    The blocks are compared with what was proved, and the results with the blocks.

    diagonals: result -> its block. traces: result -> its blocks. ranks: `wrt` -> its rank.
    """

    whole: ModuleOp = field(default_factory=lambda: ModuleOp([]))
    diagonals: Mapping[str, str] = field(default_factory=dict[str, str])
    traces: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    ranks: Mapping[str, int] = field(default_factory=dict[str, int])

    def renamed(self, names: Mapping[str, str]) -> Self:
        diagonals, traces = (
            {names.get(name, name): part[name] for name in part} for part in (self.diagonals, self.traces)
        )
        gradients = {key: names.get(name, name) for key, name in self.gradients.items()}
        return replace(self, gradients=gradients, diagonals=diagonals, traces=traces)

    def read(self, results: Arrays, cotangents: Arrays) -> dict[str, np.ndarray]:
        """Return the products with the blocks. Raises CheckError if a result is not that of the blocks."""
        blocks = Model(self.whole, Written({}, {}), {}).values(cotangents)
        rank = {name: self.ranks[key[-1]] for key, name in self.blocks.items()}
        for name, block in self.diagonals.items():
            self._compare(name, results, _diagonal(blocks[block], rank[block]))
        for name, parts in self.traces.items():
            lines = [_diagonal(blocks[part], rank[part]) for part in parts]
            axes = [tuple(range(-rank[part], 0)) for part in parts]
            sums = [np.asarray(np.sum(a, axis)) for a, axis in zip(lines, axes, strict=True)]
            self._compare(name, results, np.sum(sums, 0))
        return self._as_blocks().read(blocks, cotangents)

    def _as_blocks(self) -> WrittenHessian:
        return WrittenHessian(
            self.gradients, self.cotangents, blocks=self.blocks, outer=self.outer, rank=self.rank
        )

    def _compare(self, name: str, results: Arrays, expected: np.ndarray) -> None:
        off = distance(self.unscaled(name, results), expected) if self.factors.get(name, 1.0) else 0.0
        if off > EXACT:
            text = (
                f"{name} of the compiled model is wrong: it is off by {off:.3g} of its size from the Hessian"
            )
            raise CheckError(Diagnostic("error", text))


def _diagonal(block: np.ndarray, rank: int) -> np.ndarray:
    first = block.ndim - 2 * rank
    outer, own = block.shape[:first], block.shape[first : first + rank]
    matrix = block.reshape((*outer, prod(own), prod(own)))
    return np.diagonal(matrix, axis1=-2, axis2=-1).reshape((*outer, *own))
