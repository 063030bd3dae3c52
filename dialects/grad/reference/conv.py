# pyright: standard
# (numpy in comprehensions, whose elements its stubs do not know)
"""Convolution gradients by scatter, channels first, float64.

The forward convolution reads input position y s - pb + k d for output y and tap k. Its gradient adds
diff_dst[y] * weights[k] back to the very position that was read, dropping positions in the padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from dialects.support.taps import PER_STACK, asked_taps, over_channels


def conv_backward_data(
    diff_dst: np.ndarray,
    weights: np.ndarray,
    src_sizes: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads_begin: Sequence[int],
    groups: int,
) -> np.ndarray:
    """diff_dst (N, O, Y...), weights (O, C / groups, K...) -> diff_src (N, C, X...)."""
    batch, out_channels = diff_dst.shape[:2]
    per_group, kernel = weights.shape[1], weights.shape[2:]
    dy = diff_dst.reshape(batch, groups, out_channels // groups, *diff_dst.shape[2:])
    made = batch * groups * per_group * prod(src_sizes)
    part = batch * groups * per_group * prod(diff_dst.shape[2:])
    elements = max(dy.size, part, batch * groups * PER_STACK)
    products = part * (out_channels // groups)
    taps = asked_taps(kernel, elements, products=products, taken=2 * dy.size + made + 3 * part)
    dy = dy.astype(np.float64)
    w = weights.astype(np.float64).reshape(groups, out_channels // groups, per_group, *kernel)
    diff_src = np.zeros((batch, groups, per_group, *src_sizes))
    for tap in taps:
        reads = [
            np.arange(y) * s - pb + k * d
            for y, s, pb, k, d in zip(diff_dst.shape[2:], strides, pads_begin, tap, dilations, strict=True)
        ]
        inside = [(r >= 0) & (r < x) for r, x in zip(reads, src_sizes, strict=True)]
        kept = dy[(..., *np.ix_(*inside))]
        moved = over_channels(w[(..., *tap)].swapaxes(1, 2), kept)
        # one output position reads an input position at most once per tap: += does not collide
        diff_src[(..., *np.ix_(*(r[m] for r, m in zip(reads, inside, strict=True))))] += moved
    return diff_src.reshape(batch, groups * per_group, *src_sizes)


def conv_transpose_backward_data(
    diff_dst: np.ndarray,
    weights: np.ndarray,
    src_sizes: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads_begin: Sequence[int],
    groups: int,
) -> np.ndarray:
    """diff_dst (N, O, Y...), weights (C, O / groups, K...) -> diff_src (N, C, X...).

    The forward op adds src[x] * weights[k] to output position x s - pb + k d; its gradient reads
    diff_dst there, 0 outside.
    """
    batch, in_channels = diff_dst.shape[0], weights.shape[0]
    per_group, kernel = weights.shape[1], weights.shape[2:]
    dy = diff_dst.reshape(batch, groups, per_group, *diff_dst.shape[2:])
    made = batch * in_channels * prod(src_sizes)
    part = batch * groups * per_group * prod(src_sizes)
    elements = max(made, part, batch * groups * PER_STACK)
    taps = asked_taps(kernel, elements, products=made * per_group, taken=dy.size + 4 * made + 2 * part)
    dy = dy.astype(np.float64)
    w = weights.astype(np.float64).reshape(groups, in_channels // groups, per_group, *kernel)
    diff_src = np.zeros((batch, groups, in_channels // groups, *src_sizes))
    for tap in taps:
        writes = [
            np.arange(x) * s - pb + k * d
            for x, s, pb, k, d in zip(src_sizes, strides, pads_begin, tap, dilations, strict=True)
        ]
        inside = [(p >= 0) & (p < y) for p, y in zip(writes, diff_dst.shape[2:], strict=True)]
        read = dy[(..., *np.ix_(*(p[m] for p, m in zip(writes, inside, strict=True))))]
        diff_src[(..., *np.ix_(*inside))] += over_channels(w[(..., *tap)], read)
    return diff_src.reshape(batch, in_channels, *src_sizes)


def take_window(
    data: np.ndarray, begin: Sequence[int], size: Sequence[int], axes: Sequence[int]
) -> np.ndarray:
    """result[.., x, ..] = data[.., x + begin, ..] where that exists, else 0, on each of the axes."""
    shape = list(data.shape)
    source = [np.arange(length) for length in shape]
    for axis, b, n in zip(axes, begin, size, strict=True):
        source[axis] = np.arange(n) + b
        shape[axis] = n
    inside = [(p >= 0) & (p < length) for p, length in zip(source, data.shape, strict=True)]
    result = np.zeros(shape, data.dtype)
    result[np.ix_(*inside)] = data[np.ix_(*(p[m] for p, m in zip(source, inside, strict=True)))]
    return result
