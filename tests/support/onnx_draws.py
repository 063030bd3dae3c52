"""Random instances of ONNX ops: what an instance is, how to draw one, and the simplest kinds of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st


@dataclass
class Case:
    """An instance: operand values (None where absent), attributes, and which operands are constants."""

    name: str
    inputs: list[np.ndarray | None]
    attributes: dict[str, Any] = field(default_factory=dict)
    constants: tuple[int, ...] = ()
    results: int | None = None
    tolerance: float = 0.0
    seed: int = 0


Draw = Callable[[st.SearchStrategy], Any]


class Draws:
    """Random shapes and values; all sizes are small and most are different."""

    def __init__(self, draw: Draw):
        self.draw = draw
        self.random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def int(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def pick(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def shape(self, low: int = 0, high: int = 4) -> tuple[int, ...]:
        return tuple(self.int(1, 5) for _ in range(self.int(low, high)))

    def array(self, shape: Sequence[int], dtype: Any = np.float32) -> np.ndarray:
        if np.dtype(dtype) == np.bool_:
            return np.asarray(self.random.integers(0, 2, shape) != 0)
        if np.issubdtype(dtype, np.integer):
            return np.asarray(self.random.integers(-9, 10, shape), dtype)
        return np.asarray(self.random.integers(-40, 41, shape) / 8, dtype)

    def dtype(self) -> Any:
        return self.pick(np.float32, np.float64, np.int64, np.int32)

    def broadcast(self, count: int) -> list[tuple[int, ...]]:
        whole = self.shape()
        shapes = []
        for _ in range(count):
            start = self.int(0, len(whole))
            shapes.append(tuple(self.pick(1, size) for size in whole[start:]))
        return shapes

    def axis(self, rank: int) -> int:
        return self.int(-rank, rank - 1)

    def axes(self, rank: int) -> np.ndarray:
        chosen = self.draw(st.permutations(range(rank)))[: self.int(0, rank)]
        return np.array([axis - rank * self.int(0, 1) for axis in chosen], np.int64)


def elementwise(name: str, count: int, dtypes_: Sequence[Any] | None = None) -> Callable:
    def build(d: Draws) -> Case:
        dtype = d.pick(*dtypes_) if dtypes_ else d.dtype()
        return Case(name, [d.array(shape, dtype) for shape in d.broadcast(count)])

    return build


def unary(name: str, *dtypes_: Any) -> Callable:
    return lambda d: Case(name, [d.array(d.shape(), d.pick(*dtypes_))])


def divisor(name: str) -> Callable:
    def build(d: Draws) -> Case:
        dtype = d.dtype()
        a, b = (d.array(shape, dtype) for shape in d.broadcast(2))
        b = np.where(b == 0, np.asarray(3, dtype), b)
        if name == "Mod":
            attributes = {"fmod": 1} if dtype in (np.float32, np.float64) else d.pick({}, {"fmod": 1})
            return Case(name, [a, b], attributes)
        return Case(name, [a, b])

    return build


def variadic(name: str) -> Callable:
    def build(d: Draws) -> Case:
        dtype = d.pick(np.float32, np.float64, np.int64, np.int32)
        return Case(name, [d.array(shape, dtype) for shape in d.broadcast(d.int(1, 3))])

    return build
