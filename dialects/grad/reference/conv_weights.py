# pyright: standard
# (numpy in comprehensions, whose elements its stubs do not know)
"""The gradient of a convolution with respect to its weights, channels first, float64."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dialects.support.taps import asked_taps


def conv_backward_weights(
    src: np.ndarray,
    diff_dst: np.ndarray,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads_begin: Sequence[int],
    groups: int,
) -> np.ndarray:
    """src (N, C, X...), diff_dst (N, O, Y...) -> diff_weights (O, C / groups, K...).

    The forward op multiplies weights[k] by what output y reads at y s - pb + k d, and leaves out what lies
    in the padding: so the weight gathers diff_dst[y] times what was read.
    """
    batch, channels, out_channels = src.shape[0], src.shape[1], diff_dst.shape[1]
    products = diff_dst.size * (channels // groups)
    taps = asked_taps(
        kernel, max(src.size, diff_dst.size), products=products, taken=3 * (src.size + diff_dst.size)
    )
    x = src.astype(np.float64).reshape(batch, groups, channels // groups, *src.shape[2:])
    dy = diff_dst.astype(np.float64).reshape(batch, groups, out_channels // groups, *diff_dst.shape[2:])
    result = np.zeros((groups, out_channels // groups, channels // groups, *kernel))
    for tap in taps:
        reads = [
            np.arange(y) * s - pb + k * d
            for y, s, pb, k, d in zip(diff_dst.shape[2:], strides, pads_begin, tap, dilations, strict=True)
        ]
        inside = [(r >= 0) & (r < size) for r, size in zip(reads, src.shape[2:], strict=True)]
        weighed = _rows(dy[(..., *np.ix_(*inside))])
        read = _rows(x[(..., *np.ix_(*(r[m] for r, m in zip(reads, inside, strict=True))))])
        result[(..., *tap)] = np.matmul(weighed, read.swapaxes(1, 2))
    return result.reshape(out_channels, channels // groups, *kernel)


def _rows(array: np.ndarray) -> np.ndarray:
    """(N, G, C, X...) -> (G, C, N X): what is summed over is one axis."""
    rows = np.moveaxis(array, 0, 2)
    return rows.reshape(*rows.shape[:2], int(np.prod(rows.shape[2:])))
