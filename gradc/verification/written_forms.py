"""Forms in which a compiled model has a derivative, for its comparison with the checked one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
        return _multiples(DRAWN_ROWS if self.rows is None else self.rows)


def _multiples(count: int) -> np.ndarray:
    """Return a power of two for each row, which is exact in half types; those of neighbours differ."""
    index = np.arange(count)
    return np.where(index % 2, -1.0, 1.0) * 2.0 ** (index % 5 - 2)


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


OTHER = 0.75
"""Factor of the floats of samples that are not those of the checked function."""


@dataclass(frozen=True)
class WrittenSamples(Written):
    """The model computes `one`, the form of one sample, for several samples.

    Every second sample is that of the checked function, with multiples of its cotangents, from `first` on;
    other samples between them are not compared.

    axes: name of an input with samples -> its axis of size 1 in the function of one sample; None if it has
    none. removed: result -> its axes of size 1 in the function of one sample. places: result -> the axis of
    the samples, if not 0. samples: their number; None if it is dynamic.
    """

    one: Written = field(default_factory=lambda: Written({}, {}))
    axes: Mapping[str, int | None] = field(default_factory=dict[str, "int | None"])
    removed: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])
    places: Mapping[str, int] = field(default_factory=dict[str, int])
    samples: int | None = None
    first: int = 0

    def renamed(self, names: Mapping[str, str]) -> Self:
        axes, removed, places = (
            {names.get(name, name): part[name] for name in part}
            for part in (self.axes, self.removed, self.places)
        )
        return replace(
            super().renamed(names), one=self.one.renamed(names), axes=axes, removed=removed, places=places
        )

    def arrangements(self) -> Sequence[Written]:
        """Return a form that compares the even samples, and one for the odd ones."""
        return (self,) if self._count < 2 else (self, replace(self, first=1))

    def inputs(self, inputs: Arrays) -> Arrays:
        return {
            name: self._join(self.axes[name], [self._sample(array, i) for i in range(self._count)])
            if name in self.axes
            else array
            for name, array in inputs.items()
        }

    def feeds(self, cotangents: Arrays) -> dict[str, Any]:
        return {
            name: self._join(self.axes.get(name), [factor * array for factor in self._factors])
            for name, array in super().feeds(cotangents).items()
            if isinstance(array, np.ndarray | float)
        }

    def read(self, results: Arrays, cotangents: Arrays) -> dict[str, np.ndarray]:
        """Return a weighted mean of the compared samples, each divided by the factor of its cotangent."""
        compared = range(self.first, self._count, 2)
        weights = np.arange(1.0, len(compared) + 1) / sum(range(1, len(compared) + 1))
        one, found = replace(self.one, factors=self.factors), dict[str, np.ndarray]()
        for index, weight in zip(compared, weights, strict=True):
            row = {name: self._row(name, array, index) for name, array in results.items()}
            weight = weight / self._factors[index] if self.cotangents else weight
            for name, array in one.read(row, cotangents).items():
                found[name] = found[name] + weight * array if name in found else weight * array
        return found

    def _row(self, name: str, array: np.ndarray, index: int) -> np.ndarray:
        """Return a result of one sample, as the function of one sample has it."""
        if name not in self.removed:
            return array
        return np.expand_dims(np.take(array, index, self.places.get(name, 0)), tuple(self.removed[name]))

    def _sample(self, array: np.ndarray, index: int) -> np.ndarray:
        """Return the sample of the checked function, or another one for its neighbours."""
        if (index - self.first) % 2 == 0:
            return array
        other = np.roll(array.reshape(-1), 1).reshape(array.shape)
        return other * np.asarray(OTHER, array.dtype) if array.dtype.kind == "f" else other

    @staticmethod
    def _join(axis: int | None, rows: Sequence[np.ndarray]) -> np.ndarray:
        return np.stack(rows) if axis is None else np.concatenate(rows, axis)

    @property
    def _count(self) -> int:
        return DRAWN_ROWS if self.samples is None else self.samples

    @property
    def _factors(self) -> np.ndarray:
        return _multiples(self._count)


@dataclass(frozen=True)
class WrittenHessian(Written):
    """Each result is a block of the Hessian of one `of`: [*of, *wrt1, *wrt2].

    blocks: an `of`, a cotangent (that of the gradient by wrt1) and a gradient (by wrt2) -> result.
    outer: `of` -> the input of the checked function with its cotangent; absent if the gradient has the
    cotangent 1. rank: the rank of an `of` that is absent there.
    """

    blocks: Mapping[tuple[str, str, str], str] = field(default_factory=dict[tuple[str, str, str], str])
    outer: Mapping[str, str] = field(default_factory=dict[str, str])
    rank: int = 0

    def renamed(self, names: Mapping[str, str]) -> Self:
        blocks = {key: names.get(name, name) for key, name in self.blocks.items()}
        return replace(super().renamed(names), blocks=blocks)

    def read(self, results: Arrays, cotangents: Arrays) -> dict[str, np.ndarray]:
        """Return the products of the blocks with the cotangents of `of` and of the gradients."""
        found: dict[str, np.ndarray] = {}
        unread = {key[-1] for key, name in self.blocks.items() if not self.factors.get(name, 1.0)}
        for (of, cotangent, to), name in self.blocks.items():
            if to in unread:
                continue
            rows = cotangents[self.outer[of]] if of in self.outer else np.ones((1,) * self.rank)
            part = self.unscaled(name, results)
            for vector in (rows, cotangents[cotangent]):
                part = np.tensordot(vector, part, np.ndim(vector))
            found[to] = found[to] + part if to in found else part
        return found
