"""numpy semantics of what reads a tensor between its places: GridSample."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from dialects.onnx.call import Call
from dialects.onnx.kernels_spatial import keys
from dialects.onnx.operands import value
from dialects.support.diagnostics import UnsupportedError, violation

Kernel = Callable[[Call], Sequence[np.ndarray]]
Taps = list[tuple[np.ndarray, np.ndarray]]
"""Along one axis: places, which may lie outside, and the weight of each."""

_keys = np.vectorize(keys, otypes=[float])


def grid_sample(call: Call) -> list[np.ndarray]:
    """At each point of the grid, the elements around it times weights; x, the last axis, comes first."""
    x, grid = value(call, 0), value(call, 1)
    how, sizes = call.attribute("padding_mode", "zeros"), x.shape[2:]
    corners = bool(call.attribute("align_corners", 0))
    total = np.zeros((x.shape[0], *grid.shape[1:-1], x.shape[1]))
    if not total.size or not x.size:
        return [np.moveaxis(total, -1, 1)]
    per_axis = [
        _taps(call, _place(grid[..., -1 - axis], size, corners), size, corners)
        for axis, size in enumerate(sizes)
    ]
    batch = np.arange(x.shape[0]).reshape(-1, *[1] * (grid.ndim - 2))
    for taps in itertools.product(*per_axis):
        weight, at = np.ones(grid.shape[:-1]), []
        for (place, share), size in zip(taps, sizes, strict=True):
            inside = (place >= 0) & (place < size)
            weight = weight * share * (inside if how == "zeros" else 1)
            at.append(_within(place, size, how, corners))
        total += np.moveaxis(x, 1, -1)[(batch, *at)] * weight[..., None]
    return [np.moveaxis(total, -1, 1)]


def _place(t: np.ndarray, size: int, corners: bool) -> np.ndarray:
    """From [-1, 1] to the numbers of the elements."""
    return (t + 1) / 2 * (size - 1) if corners else ((t + 1) * size - 1) / 2


def _taps(call: Call, place: np.ndarray, size: int, corners: bool) -> Taps:
    mode, how = call.attribute("mode", "linear"), call.attribute("padding_mode", "zeros")
    if mode == "nearest":
        place = np.rint(place)
    low, high = (0, size - 1) if corners else (-0.5, size - 0.5)
    outside = (place < low) | (place > high)
    if how == "border":
        place = np.where(outside, np.clip(place, 0, size - 1), place)
    elif how == "reflection":
        place = np.where(outside, reflected(place, low, high), place)
    elif how != "zeros":
        raise violation("padding_mode", given=how)
    if mode == "nearest":
        return [(place, np.ones(place.shape))]
    floor = np.floor(place)
    part = place - floor
    if mode == "linear":
        return [(floor, 1 - part), (floor + 1, part)]
    if mode != "cubic":
        raise UnsupportedError(violation("mode", given=mode).diagnostic)
    return [(floor + i, _keys(np.abs(part - i), -0.75)) for i in range(-1, 3)]


def _within(place: np.ndarray, size: int, how: str, corners: bool) -> np.ndarray:
    if how == "reflection":
        place = reflected(place, *((0, size - 1) if corners else (-0.5, size - 0.5)))
    return np.clip(place, 0, size - 1).astype(np.int64)


def reflected(place: np.ndarray, low: float, high: float) -> np.ndarray:
    """Back and forth between two mirrors."""
    length = high - low
    if not length:
        return np.full(place.shape, low)
    turn = np.mod(place - low, 2 * length)
    return low + length - np.abs(turn - length)


KERNELS: dict[str, Kernel] = {"GridSample": grid_sample}
