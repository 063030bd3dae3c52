"""Gradients of pools by scatter, channels first, float64."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from dialects.grad.geometry import Window
from dialects.support.columns import Windows
from dialects.support.taps import iter_taps

Index = tuple[Any, ...]
Met = tuple[Index, Index]


def _tap_indices(
    windows: Sequence[Window], begin: Sequence[int], y: Sequence[int], x: Sequence[int], channels: int
) -> Iterator[Met]:
    """Yield, per tap in row-major order, the indices of the data it reads and of the reading outputs."""
    kernel = tuple(window.kernel for window in windows)
    every = Windows(kernel, [w.stride for w in windows], [w.dilation for w in windows], begin)
    for tap in iter_taps(kernel, channels * prod(y)):
        places, positions = every.tap_slices(tap, x, y)
        yield (..., *places), (..., *positions)


def max_pool_backward(
    src: np.ndarray, diff_dst: np.ndarray, windows: Sequence[Window], begin: Sequence[int]
) -> np.ndarray:
    """Add each window's diff_dst to its first maximum, as `MaxPoolBackwardOp` defines it; if no element
    exceeds -inf, that is the first tap, even in the padding."""
    sizes, counts = src.shape[2:], diff_dst.shape[2:]
    best, chosen = np.full(diff_dst.shape, -np.inf), np.zeros(diff_dst.shape, np.int32)

    def met() -> Iterator[Met]:
        return _tap_indices(windows, begin, counts, sizes, 4 * prod(src.shape[:2]))

    for number, (places, positions) in enumerate(met()):
        held, before, numbers = src[places], best[positions], chosen[positions]
        np.maximum(numbers, (held > before) * np.int32(number), out=numbers)
        np.fmax(before, held, out=before)
    result = np.zeros(src.shape)
    for number, (places, positions) in enumerate(met()):
        result[places] += np.where(chosen[positions] == number, diff_dst[positions], 0)
    return result


def avg_pool_backward(
    diff_dst: np.ndarray,
    sizes: Sequence[int],
    windows: Sequence[Window],
    begin: Sequence[int],
    exclude_pad: bool,
) -> np.ndarray:
    """Spread each window's diff_dst evenly over its taps, or over those that are data."""

    def met() -> Iterator[Met]:
        return _tap_indices(windows, begin, diff_dst.shape[2:], sizes, 2 * prod(diff_dst.shape[:2]))

    count = np.zeros(diff_dst.shape[2:], int)
    for _, positions in met():
        count[positions] += 1
    share = diff_dst / (np.maximum(count, 1) if exclude_pad else prod(window.kernel for window in windows))
    result = np.zeros((*diff_dst.shape[:2], *sizes))
    for places, positions in met():
        result[places] += share[positions]
    return result
