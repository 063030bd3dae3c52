"""Data and weights layouts as axis orders, and the permutations between them.

Layouts are spelled as the documents do: NCX, NXC, OIX, XIO, IOX, XOI, NCHW, NHWC. X denotes all spatial axes
in D, H, W order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TypeVar

import numpy as np

T = TypeVar("T")


def axes_of(layout: str, spatial_rank: int) -> list[str]:
    """Return the layout with X expanded: `axes_of("NXC", 2) == ["N", "0", "1", "C"]`."""
    axes: list[str] = []
    for letter in layout.replace("HW", "X"):
        axes += [str(i) for i in range(spatial_rank)] if letter == "X" else [letter]
    return axes


@cache
def permutation(source: str, target: str, spatial_rank: int) -> tuple[int, ...]:
    """Return `perm` such that `np.transpose(array in source, perm)` is the array in target."""
    given = axes_of(source, spatial_rank)
    return tuple(given.index(axis) for axis in axes_of(target, spatial_rank))


def reorder(values: Sequence[T], source: str, target: str) -> tuple[T, ...]:
    """Permute a per-axis list, such as a shape, from one layout to another."""
    return tuple(values[i] for i in permutation(source, target, len(values) - 2))


def transpose(array: np.ndarray, source: str, target: str) -> np.ndarray:
    """Return an array in a layout in another one."""
    return array.transpose(permutation(source, target, array.ndim - 2))


@cache
def spatial_axes(layout: str, spatial_rank: int) -> tuple[int, ...]:
    axes = axes_of(layout, spatial_rank)
    return tuple(axes.index(str(i)) for i in range(spatial_rank))


@cache
def axis_of(layout: str, letter: str, spatial_rank: int) -> int:
    return axes_of(layout, spatial_rank).index(letter)
