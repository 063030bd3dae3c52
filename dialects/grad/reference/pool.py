"""Gradients of pools by scatter, channels first, float64."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from dialects.grad.geometry import Window
from dialects.support.taps import asked_taps

Read = tuple[list[np.ndarray], list[np.ndarray]]


def _reads(
    windows: Sequence[Window], begin: Sequence[int], y: Sequence[int], x: Sequence[int], channels: int
) -> Iterator[Read]:
    """For each place of the window, in row-major order: where it lies, and whether that is data."""
    for tap in asked_taps([window.kernel for window in windows], channels * prod(y)):
        rows = zip(windows, begin, y, tap, strict=True)
        places = [np.arange(count) * w.stride - b + k * w.dilation for w, b, count, k in rows]
        yield places, [(at >= 0) & (at < size) for at, size in zip(places, x, strict=True)]


def max_pool_backward(
    src: np.ndarray, diff_dst: np.ndarray, windows: Sequence[Window], begin: Sequence[int]
) -> np.ndarray:
    """Each window's diff_dst to the first place that is greater than those before it. NaN is greater than
    nothing; where nothing is greater than -inf, it is the first place, also in the padding."""
    sizes, counts = src.shape[2:], diff_dst.shape[2:]
    best, chosen = np.full(diff_dst.shape, -np.inf), np.zeros(diff_dst.shape, np.int32)

    def reads() -> Iterator[Read]:
        return _reads(windows, begin, counts, sizes, 4 * prod(src.shape[:2]))

    for number, (places, inside) in enumerate(reads()):
        kept = [at[m] for at, m in zip(places, inside, strict=True)]
        where, held = (..., *np.ix_(*inside)), src[(..., *np.ix_(*kept))]
        before, numbers = best[where], chosen[where]
        better = held > before
        np.copyto(before, held, where=better)
        np.copyto(numbers, number, where=better)
        best[where], chosen[where] = before, numbers
    result = np.zeros(src.shape)
    for number, (places, inside) in enumerate(reads()):
        where = (..., *np.ix_(*inside))
        gives = np.where(chosen[where] == number, diff_dst[where], 0)
        result[(..., *np.ix_(*(at[m] for at, m in zip(places, inside, strict=True))))] += gives
    return result


def avg_pool_backward(
    diff_dst: np.ndarray,
    sizes: Sequence[int],
    windows: Sequence[Window],
    begin: Sequence[int],
    exclude_pad: bool,
) -> np.ndarray:
    """To each place of a window its share of diff_dst: over all places, or over those that are data."""

    def reads() -> Iterator[Read]:
        return _reads(windows, begin, diff_dst.shape[2:], sizes, 2 * prod(diff_dst.shape[:2]))

    held = (np.logical_and.reduce(np.meshgrid(*inside, indexing="ij")) for _, inside in reads())
    count = sum(each.astype(int) for each in held)
    share = diff_dst / (np.maximum(count, 1) if exclude_pad else prod(window.kernel for window in windows))
    result = np.zeros((*diff_dst.shape[:2], *sizes))
    for places, inside in reads():
        kept = [at[m] for at, m in zip(places, inside, strict=True)]
        result[(..., *np.ix_(*kept))] += share[(..., *np.ix_(*inside))]
    return result
