"""One source of choices for hypothesis and for seeded sweeps, so that both use the same generators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from hypothesis import strategies as st

T = TypeVar("T")


class Draw(Protocol):
    def integer(self, low: int, high: int) -> int:
        """An integer of [low, high]."""
        ...

    def choice(self, options: Sequence[T]) -> T:
        """One of the options; the first is the simplest."""
        ...


class HypothesisDraw:
    def __init__(self, draw: Any):
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))

    def choice(self, options: Sequence[T]) -> T:
        return self._draw(st.sampled_from(options))


class SeededDraw:
    def __init__(self, seed: int | Sequence[int]):
        self._rng = np.random.default_rng(seed)

    def integer(self, low: int, high: int) -> int:
        return int(self._rng.integers(low, high + 1))

    def choice(self, options: Sequence[T]) -> T:
        return options[self.integer(0, len(options) - 1)]
