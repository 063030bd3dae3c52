# pyright: standard
# (numpy in comprehensions, whose elements its stubs do not know)
"""Convolution gradients by scatter, channels first, float64.

The forward convolution reads input position y s - pb + k d for output y and tap k. Its gradient adds
diff_dst[y] * weights[k] to that position, and drops positions in the padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from dialects.support.columns import Windows, block_size, gather, scatter
from dialects.support.taps import PER_STACK, count_taps


def conv_backward_data(
    diff_dst: np.ndarray,
    weights: np.ndarray,
    src_sizes: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads_begin: Sequence[int],
    groups: int,
) -> np.ndarray:
    """Map diff_dst (N, O, Y...), weights (O, C / groups, K...) to diff_src (N, C, X...)."""
    batch, out_channels = diff_dst.shape[:2]
    per_group, kernel = weights.shape[1], weights.shape[2:]
    dy = diff_dst.reshape(batch, groups, out_channels // groups, *diff_dst.shape[2:])
    made = batch * groups * per_group * prod(src_sizes)
    part = batch * groups * per_group * prod(diff_dst.shape[2:])
    elements = max(dy.size, part, batch * groups * PER_STACK)
    products = part * (out_channels // groups)
    block = max(part, block_size(weights.size, prod(kernel) * part + dy.size))
    count_taps(kernel, elements, products=products, taken=2 * dy.size + made + block)
    w = weights.astype(np.float64, copy=False).reshape(groups, out_channels // groups, per_group, *kernel)
    windows = Windows(kernel, strides, dilations, pads_begin)
    diff_src = scatter(dy.astype(np.float64, copy=False), w, windows, src_sizes)
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
    """Map diff_dst (N, O, Y...), weights (C, O / groups, K...) to diff_src (N, C, X...).

    The forward op adds src[x] * weights[k] to output position x s - pb + k d; its gradient reads diff_dst
    there, 0 outside.
    """
    batch, in_channels = diff_dst.shape[0], weights.shape[0]
    per_group, kernel = weights.shape[1], weights.shape[2:]
    dy = diff_dst.reshape(batch, groups, per_group, *diff_dst.shape[2:])
    made = batch * in_channels * prod(src_sizes)
    part = batch * groups * per_group * prod(src_sizes)
    elements = max(made, part, batch * groups * PER_STACK)
    block = max(part, block_size(weights.size, prod(kernel) * part + made))
    count_taps(kernel, elements, products=made * per_group, taken=2 * dy.size + 2 * made + block)
    w = weights.astype(np.float64, copy=False).reshape(groups, in_channels // groups, per_group, *kernel)
    windows = Windows(kernel, strides, dilations, pads_begin)
    diff_src = gather(dy.astype(np.float64, copy=False), w, windows, src_sizes)
    return diff_src.reshape(batch, in_channels, *src_sizes)


def take_window(
    data: np.ndarray, begin: Sequence[int], size: Sequence[int], axes: Sequence[int]
) -> np.ndarray:
    """Return data[.., x + begin, ..] for x < size on each of the axes, 0 outside."""
    shape = list(data.shape)
    source = [np.arange(length) for length in shape]
    for axis, b, n in zip(axes, begin, size, strict=True):
        source[axis] = np.arange(n) + b
        shape[axis] = n
    inside = [(p >= 0) & (p < length) for p, length in zip(source, data.shape, strict=True)]
    result = np.zeros(shape, data.dtype)
    result[np.ix_(*inside)] = data[np.ix_(*(p[m] for p, m in zip(source, inside, strict=True)))]
    return result
