# pyright: standard
# (numpy in comprehensions, whose elements its stubs do not know)
"""The gradient of a convolution with respect to its weights, channels first, float64."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from dialects.support.columns import Windows, block_size, correlate
from dialects.support.taps import count_taps


def conv_backward_weights(
    src: np.ndarray,
    diff_dst: np.ndarray,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads_begin: Sequence[int],
    groups: int,
) -> np.ndarray:
    """Map src (N, C, X...), diff_dst (N, O, Y...) to diff_weights (O, C / groups, K...).

    The forward op multiplies weights[k] by src[y s - pb + k d] for output y, and skips the padding; the
    gradient sums diff_dst[y] times that input.
    """
    batch, channels, out_channels = src.shape[0], src.shape[1], diff_dst.shape[1]
    products = diff_dst.size * (channels // groups)
    weights = out_channels * channels // groups * prod(kernel)
    block = block_size(weights, prod(kernel) * batch * channels * prod(diff_dst.shape[2:]) + diff_dst.size)
    elements = max(src.size, diff_dst.size)
    count_taps(kernel, elements, products=products, taken=3 * (src.size + diff_dst.size) + weights + block)
    x, dy = (array.astype(np.float64, copy=False) for array in (src, diff_dst))
    found = correlate(
        x.reshape(batch, groups, channels // groups, *src.shape[2:]),
        dy.reshape(batch, groups, out_channels // groups, *diff_dst.shape[2:]),
        Windows(tuple(kernel), strides, dilations, pads_begin),
    )
    return found.reshape(out_channels, channels // groups, *kernel)
