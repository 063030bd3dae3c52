"""Layouts against numpy: a permutation does with an array what its name says."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dialects.support import layouts

DATA = ("NCX", "NXC")
WEIGHTS = ("OIX", "XIO", "IOX", "XOI")
PAIRS = [*product(DATA, DATA), *product(WEIGHTS, WEIGHTS)]


def shape_in(layout: str, sizes: dict[str, int], spatial: tuple[int, ...]) -> tuple[int, ...]:
    """Written out by hand: X stands for the spatial sizes."""
    shape: list[int] = []
    for letter in layout:
        shape += spatial if letter == "X" else [sizes[letter]]
    return tuple(shape)


@pytest.mark.sweep
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_permutation(source: str, target: str, rank: int):
    sizes = {"N": 2, "C": 3, "O": 4, "I": 5}
    spatial = (7, 8, 9)[:rank]
    array = np.empty(shape_in(source, sizes, spatial))
    permutation = layouts.permutation(source, target, rank)
    expected = shape_in(target, sizes, spatial)
    assert np.transpose(array, permutation).shape == expected
    assert layouts.reorder(array.shape, source, target) == expected


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_there_and_back(source: str, target: str):
    values = ("a", "b", "c", "d")
    assert layouts.reorder(layouts.reorder(values, source, target), target, source) == values


@pytest.mark.parametrize(
    ("source", "target", "rank", "permutation"),
    [
        ("NXC", "NCX", 2, (0, 3, 1, 2)),
        ("NCX", "NXC", 2, (0, 2, 3, 1)),
        ("XIO", "OIX", 2, (3, 2, 0, 1)),
        ("XOI", "IOX", 2, (3, 2, 0, 1)),
        ("XIO", "OIX", 1, (2, 1, 0)),
        ("NHWC", "NCX", 2, (0, 3, 1, 2)),
        ("NCHW", "NCX", 2, (0, 1, 2, 3)),
    ],
)
def test_by_hand(source: str, target: str, rank: int, permutation: tuple[int, ...]):
    assert layouts.permutation(source, target, rank) == permutation


@pytest.mark.parametrize(
    ("layout", "rank", "axes"),
    [("NCX", 3, (2, 3, 4)), ("NXC", 2, (1, 2)), ("XIO", 1, (0,)), ("NHWC", 2, (1, 2)), ("NCHW", 2, (2, 3))],
)
def test_spatial_axes(layout: str, rank: int, axes: tuple[int, ...]):
    assert layouts.spatial_axes(layout, rank) == axes


@pytest.mark.parametrize(
    ("layout", "letter", "rank", "axis"),
    [("NCX", "C", 3, 1), ("NXC", "C", 3, 4), ("NXC", "N", 1, 0), ("XIO", "O", 2, 3), ("NHWC", "C", 2, 3)],
)
def test_axis_of(layout: str, letter: str, rank: int, axis: int):
    assert layouts.axis_of(layout, letter, rank) == axis
