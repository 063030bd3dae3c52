"""Random sizes, shapes, constants and names of models.

Sizes are log-uniform, with a bound on the elements of each tensor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from tools.calibration.model import Build, NodeModel

MOST_ELEMENTS = 2**22
MOST_PRODUCTS = 3e8
"""Maximum multiplications of a model: about 10 ms."""

Draw = Callable[[np.random.Generator], NodeModel | None]
"""Draws a model; None if it is too large or invalid."""


def draw_size(rng: np.random.Generator, low: float, high: float) -> int:
    return round(math.exp(rng.uniform(math.log(low), math.log(high))))


def floats(*shape: int) -> np.ndarray:
    """Return varied values, so that a runtime cannot recognize a special case."""
    count = math.prod(shape)
    return (0.01 + np.arange(count, dtype=np.float32) % 97 / 97).reshape(shape)


def format_parts(*parts: object) -> str:
    """Format shapes and values: `1x2x3,k=3`."""
    return ",".join("x".join(map(str, p)) if isinstance(p, list | tuple) else str(p) for p in parts)


def draw_channels(rng: np.random.Generator) -> int:
    """Draw a number of channels, often a multiple of 16 as in most networks."""
    return 16 * draw_size(rng, 1, 32) if rng.random() < 0.7 else draw_size(rng, 1, 200)


def draw_shape(rng: np.random.Generator, rank: int | None = None, most: float = MOST_ELEMENTS) -> list[int]:
    """Draw sizes with a log-uniform number of elements."""
    rank = rank or int(rng.integers(2, 6))
    total = math.log(rng.uniform(0.2, 1.0)) + rng.uniform(math.log(2000), math.log(most))
    shares = rng.dirichlet(np.ones(rank))
    return [max(1, round(math.exp(total * share))) for share in shares]


def node_model(kind: str, name: str, shape: Sequence[int], build: Build, *more: Sequence[int]) -> NodeModel:
    return NodeModel(kind, name, (tuple(shape), *map(tuple, more)), build)
