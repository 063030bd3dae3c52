"""The choices and tensors that the random problems of every op share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from support.draw import Draw
from support.problems import Problem, Value, random_array

from dialects.support.shapes import Dim, Shape

STATIC, BATCH, SPATIAL = "static", "batch", "spatial"
DYNAMICS = (STATIC, BATCH, SPATIAL)
CONSTANT_FORMS = ("onnx", "arith")


@dataclass
class Generator:
    """Draws one problem. `dynamic` is static, batch or spatial (which includes the batch)."""

    draw: Draw
    dynamic: str
    dtype: str
    problem: Problem
    batches: tuple[int, ...]

    # --- small choices ---------------------------------------------------------------------------

    def flag(self, one_in: int = 2) -> bool:
        return self.draw.integer(0, one_in - 1) == one_in - 1

    def ints(self, count: int, low: int, high: int) -> list[int]:
        return [self.draw.integer(low, high) for _ in range(count)]

    def case(self, word: str) -> str:
        """A word in one of the spellings that are read."""
        return self.draw.choice((word, word.lower(), word.upper(), word.capitalize()))

    def layout(self, dst: Value | None) -> str:
        """Any layout can be read into a shape, unless a channel count would be a run-time size."""
        if dst is None or self.dynamic != SPATIAL:
            return self.draw.choice(("NCX", "NXC"))
        return "NCX" if isinstance(dst.declared[1], int) and not _differ(dst.sizes, 1) else "NXC"

    # --- values ----------------------------------------------------------------------------------

    def fresh_diff_dst(self, n: int, layout: str, largest: int, channels: int | None = None) -> Value:
        """A new diff_dst of n spatial axes."""
        channels = channels or self.draw.choice((1, 2, 3, 4, 6))
        spatial = [self._spatial(i, largest) for i in range(n)]
        declared: list[Dim] = [self.declared_batch(), channels, *(d for d, _ in spatial)]
        sizes = [
            (self.batches[run], channels, *(s[run] for _, s in spatial)) for run in range(self.problem.runs)
        ]
        order = [0, *range(2, n + 2), 1] if layout == "NXC" else list(range(n + 2))
        reordered = [tuple(size[i] for i in order) for size in sizes]
        return self.problem.add_input("dy", self.dtype, tuple(declared[i] for i in order), reordered)

    def declared_batch(self) -> Dim:
        if self.dynamic == STATIC or (self.dynamic == SPATIAL and len(set(self.batches)) == 1):
            return self.batches[0]
        return self.draw.choice(("N", None))

    def _spatial(self, index: int, largest: int) -> tuple[Dim, tuple[int, ...]]:
        if self.dynamic != SPATIAL or self.flag(3):
            size = self.draw.integer(1, largest)
            return size, (size,) * self.problem.runs
        name = f"Y{len(self.problem.inputs)}_{index}" if self.flag() else None
        if self.flag(4):
            return name, (self.draw.integer(1, largest),) * self.problem.runs
        return name, tuple(self.ints(self.problem.runs, 1, largest))

    def weights(self, shape: Sequence[int]) -> Value:
        if self.flag():
            return self.problem.add_input("w", self.dtype, tuple(shape), (tuple(shape),) * self.problem.runs)
        array = random_array([self.problem.seed, 99, len(self.problem.constants)], self.dtype, shape)
        return self.problem.add_constant("w", array, self.draw.choice(CONSTANT_FORMS))

    def sizes_operand(self, name: str, values: Sequence[Sequence[int]], *, constant: bool) -> Value:
        if not constant:
            return self.problem.add_sizes(name, values)
        array = np.array(values[0], np.int32)
        return self.problem.add_constant(name, array, self.draw.choice(CONSTANT_FORMS))


def _differ(sizes: Sequence[tuple[int, ...]], axis: int) -> bool:
    return len({size[axis] for size in sizes}) > 1


def spatial_of(shape: Shape, data: str) -> tuple:
    return tuple(shape[2:] if data == "NCX" else shape[1:-1])


def channels_of(shape: Sequence[int], data: str) -> int:
    return shape[1] if data == "NCX" else shape[-1]


def in_layout(shape: Sequence, data: str) -> tuple:
    """A shape from NCX order."""
    n, c, *spatial = shape
    return (n, c, *spatial) if data == "NCX" else (n, *spatial, c)
