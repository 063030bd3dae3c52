# pyright: standard
# (numpy in comprehensions, whose elements its stubs do not know)
"""Sums over taps and channels: the arithmetic of convolutions and their gradients.

Arrays are float64, channels first, and split into groups: data (N, G, C, X...). Tap k of output y reads
element y s - b + k d of the data, if it exists. One matrix product sums a block of columns (im2col). Single
taps and groups of few channels are summed tap by tap.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.lib.stride_tricks import as_strided

BLOCK = 2**20
"""Elements of a block of columns and of its product, unless the weights have more."""

SLAB = 2**14
"""Elements to which all taps are added before the next ones, where a matrix product does not pay."""

FEW = 4
"""Products of channels in a group up to which a matrix product does not pay."""

Index = tuple[slice, ...]


@dataclass(frozen=True)
class Windows:
    """Sliding windows: kernel size, stride s, dilation d and begin padding b per spatial axis."""

    kernel: tuple[int, ...]
    strides: Sequence[int]
    dilations: Sequence[int]
    begin: Sequence[int]

    @property
    def is_point(self) -> bool:
        return prod(self.kernel) == 1

    def taps(self) -> Iterator[tuple[int, ...]]:
        return itertools.product(*map(range, self.kernel))

    def tap_slices(
        self, tap: Sequence[int], sizes: Sequence[int], counts: Sequence[int]
    ) -> tuple[Index, Index]:
        """Return, for one tap, the slices of the elements it reads and of the outputs that read them."""
        axes = zip(tap, self.strides, self.dilations, self.begin, sizes, counts, strict=True)
        pairs = [_axis_slices(k * d - b, s, size, count) for k, s, d, b, size, count in axes]
        return tuple(places for places, _ in pairs), tuple(positions for _, positions in pairs)

    def after(self, positions: Sequence[slice]) -> Windows:
        """Return the windows that start at the given output positions."""
        axes = zip(self.begin, self.strides, positions, strict=True)
        begin = [b - s * position.start for b, s, position in axes]
        return Windows(self.kernel, self.strides, self.dilations, begin)

    def crop_frame(self, data: np.ndarray, counts: Sequence[int]) -> np.ndarray:
        """Return the elements that `counts` outputs read, from the first tap on; zero outside the data."""
        axes = zip(self.kernel, self.strides, self.dilations, counts, strict=True)
        spans = [(count - 1) * s + (k - 1) * d + 1 if count and k else 0 for k, s, d, count in axes]
        sizes = data.shape[3:]
        if not any(self.begin) and all(span <= size for span, size in zip(spans, sizes, strict=True)):
            return data
        pairs = [
            _axis_slices(-b, 1, size, span) for b, size, span in zip(self.begin, sizes, spans, strict=True)
        ]
        frame = np.zeros((*data.shape[:3], *spans))
        frame[(..., *(inside for _, inside in pairs))] = data[(..., *(places for places, _ in pairs))]
        return frame

    def on_frame(self) -> Windows:
        """Return the windows that read the result of `crop_frame`."""
        return Windows(self.kernel, self.strides, self.dilations, (0,) * len(self.kernel))


def _axis_slices(first: int, stride: int, size: int, count: int) -> tuple[slice, slice]:
    """Return slices of the indices `first + i stride` within [0, size) for i < count, and of these i."""
    start = max(0, -(first // stride))
    stop = max(start, min(count, (size - 1 - first) // stride + 1))
    begin = first + start * stride
    return slice(begin, begin + (stop - start) * stride, stride), slice(start, stop)


def block_size(weights: int, columns: int) -> int:
    """Return the number of elements of a block, for so many weights and so many columns in all."""
    return min(columns, max(BLOCK, weights))


def gather(data: np.ndarray, weights: np.ndarray, windows: Windows, counts: Sequence[int]) -> np.ndarray:
    """Convolve: data (N, G, C, X...), weights (G, O, C, K...) -> (N, G, O, Y...)."""
    if windows.is_point:
        return _gather_by_taps(data, weights, windows, counts)
    frame = windows.crop_frame(data, counts)
    if frame is not data and not np.isfinite(weights).all():
        return _gather_by_taps(data, weights, windows, counts)  # inf times a zero of the frame would be NaN
    seen, rows = _tap_view(frame, windows, counts), _flat(weights)
    result = np.empty((len(data), *weights.shape[:2], *counts))
    for block in _blocks(result, weights):
        part = np.moveaxis(result[block], 0, 2)
        part[...] = np.matmul(rows, _columns(seen[block], windows)).reshape(part.shape)
    return result


def scatter(data: np.ndarray, weights: np.ndarray, windows: Windows, sizes: Sequence[int]) -> np.ndarray:
    """Transpose of `gather`: data (N, G, C, Y...), weights (G, C, O, K...) -> (N, G, O, X...)."""
    if windows.is_point or _is_thin(weights):
        return _scatter_by_taps(data, weights, windows, sizes)
    result = np.zeros((*data.shape[:2], weights.shape[2], *sizes))
    rows = _flat(weights).swapaxes(1, 2)
    for block in _blocks(data, weights):
        part = np.moveaxis(data[block], 0, 2)
        columns = np.matmul(rows, _flat(part)).reshape(len(rows), *weights.shape[2:], *part.shape[2:])
        added, target = np.moveaxis(columns, -part.ndim + 2, 0), result[block[0]]
        after = windows.after(block[3:])
        for tap in windows.taps():
            places, positions = after.tap_slices(tap, sizes, part.shape[3:])
            target[(..., *places)] += added[(slice(None), slice(None), slice(None), *tap, *positions)]
    return result


def correlate(data: np.ndarray, others: np.ndarray, windows: Windows) -> np.ndarray:
    """Weight gradient of `gather`: data (N, G, C, X...), others (N, G, O, Y...) -> (G, O, C, K...)."""
    counts, sums = others.shape[3:], np.zeros((*others.shape[1:3], data.shape[2], *windows.kernel))
    frame = data if windows.is_point else windows.crop_frame(data, counts)
    if windows.is_point or (frame is not data and not np.isfinite(others).all()):
        return _correlate_by_taps(data, others, windows, sums)
    seen, rows = _tap_view(frame, windows, counts), _flat(sums)
    for block in _blocks(others, sums):
        columns = _columns(seen[block], windows).swapaxes(1, 2)
        rows += np.matmul(_flat(np.moveaxis(others[block], 0, 2)), columns)
    return sums


def _tap_view(frame: np.ndarray, windows: Windows, counts: Sequence[int]) -> np.ndarray:
    """Return a view (N, G, C, Y..., K...) of the element of `frame` that each tap of each output reads."""
    steps = frame.strides[3:]
    across = [step * s for step, s in zip(steps, windows.strides, strict=True)]
    within = [step * d for step, d in zip(steps, windows.dilations, strict=True)]
    shape = (*frame.shape[:3], *counts, *windows.kernel)
    return as_strided(frame, shape, (*frame.strides[:3], *across, *within), writeable=False)


def _columns(seen: np.ndarray, windows: Windows) -> np.ndarray:
    """(N, G, C, Y..., K...) -> (G, C K, N Y)."""
    rank = len(windows.kernel)
    batch, groups, channels, *rest = range(seen.ndim)
    moved = seen.transpose(groups, channels, *rest[rank:], batch, *rest[:rank])
    sizes = moved.shape
    return moved.reshape(sizes[0], prod(sizes[1 : 2 + rank]), prod(sizes[2 + rank :]))


def _flat(array: np.ndarray) -> np.ndarray:
    """Merge all axes but the first two."""
    return array.reshape(*array.shape[:2], prod(array.shape[2:]))


def _blocks(data: np.ndarray, weights: np.ndarray) -> Iterator[Index]:
    """Yield indices of parts of (N, G, C, Y...) with all of G and C, and at most a block of columns each."""
    each = weights.size // max(1, weights.shape[1]) + prod(weights.shape[:2])
    left = max(BLOCK, weights.size) // max(1, each)
    parts: list[list[slice]] = []
    for size in (*data.shape[:2:-1], data.shape[0]):
        count = -(-size // max(1, min(size, left)))
        parts.append(_parts(size, count))
        left = left // max(1, size) if count <= 1 else 1
    images, *axes = reversed(parts)
    return itertools.product(images, [slice(None)], [slice(None)], *axes)


def _parts(size: int, count: int) -> list[slice]:
    """Split an axis into `count` nearly equal slices; an empty axis into one."""
    ends = [size * i // max(1, count) for i in range(max(1, count) + 1)]
    return [slice(*pair) for pair in itertools.pairwise(ends)]


def _is_thin(weights: np.ndarray) -> bool:
    return weights.shape[0] > 1 and weights.shape[1] * weights.shape[2] <= FEW


def _gather_by_taps(
    data: np.ndarray, weights: np.ndarray, windows: Windows, counts: Sequence[int]
) -> np.ndarray:
    result = np.zeros((len(data), *weights.shape[:2], *counts))
    for tap in windows.taps():
        places, positions = windows.tap_slices(tap, data.shape[3:], counts)
        part = _products(weights[(..., *tap)], data[(..., *places)])
        if windows.is_point and part.shape == result.shape:
            return part
        result[(..., *positions)] += part
    return result


def _scatter_by_taps(
    data: np.ndarray, weights: np.ndarray, windows: Windows, sizes: Sequence[int]
) -> np.ndarray:
    result = np.zeros((*data.shape[:2], weights.shape[2], *sizes))
    for groups in _slabs(result, windows):
        target, source, rows = result[:, groups], data[:, groups], weights[groups].swapaxes(1, 2)
        for tap in windows.taps():
            places, positions = windows.tap_slices(tap, sizes, data.shape[3:])
            part = _products(rows[(..., *tap)], source)[(..., *positions)]
            if windows.is_point and part.shape == result.shape:
                return part
            target[(..., *places)] += part
    return result


def _correlate_by_taps(
    data: np.ndarray, others: np.ndarray, windows: Windows, sums: np.ndarray
) -> np.ndarray:
    for tap in windows.taps():
        places, positions = windows.tap_slices(tap, data.shape[3:], others.shape[3:])
        met, by = (np.moveaxis(part, 0, 2) for part in (data[(..., *places)], others[(..., *positions)]))
        sums[(..., *tap)] = np.matmul(_flat(by), _flat(met).swapaxes(1, 2))
    return sums


def _slabs(result: np.ndarray, windows: Windows) -> list[slice]:
    """Split the groups of (N, G, O, X...) into slices of a few each."""
    groups = result.shape[1]
    return _parts(groups, 1 if windows.is_point else min(groups, -(-result.size // SLAB)))


def _products(weights: np.ndarray, data: np.ndarray) -> np.ndarray:
    """Sum over the channels of a group: weights (G, O, C), data (N, G, C, X...) -> (N, G, O, X...)."""
    sizes = data.shape[3:]
    if weights.shape[2] == 1:
        return weights.reshape(*weights.shape[:2], *[1] * len(sizes)) * data
    flat = data.reshape(*data.shape[:3], prod(sizes))
    return np.matmul(np.ascontiguousarray(weights), flat).reshape(*data.shape[:2], weights.shape[1], *sizes)
