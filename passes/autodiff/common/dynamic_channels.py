"""Gradients of a convolution with a dynamic number of channels, as ONNX ops.

Canonical gradients need static weight sizes. Here only the kernel sizes are static.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dialects.grad.geometry import ConvAxis
from dialects.onnx import ops as onnx
from passes.autodiff.common.slice_adjoint import size_of, vector
from passes.builder.values import Value
from passes.conv.weight_gradients import Taps, tap_reads


def by_image(
    values: Value, weights: Value, axes: Sequence[ConvAxis], residue: Sequence[int], groups: int
) -> Value:
    """Return the gradient with respect to the image, `residue` elements longer than the windows cover."""
    return values.apply(
        onnx.ConvTransposeOp,
        weights,
        group=groups,
        kernel_shape=[axis.window.kernel for axis in axes],
        strides=[axis.window.stride for axis in axes],
        dilations=[axis.window.dilation for axis in axes],
        pads=[axis.pad_begin for axis in axes] + [axis.pad_end for axis in axes],
        output_padding=list(residue),
    )


def by_weights(image: Value, values: Value, like: Value, axes: Sequence[ConvAxis], groups: int) -> Value:
    """Return the gradient with respect to the weights: a product per group of cotangents and taps."""
    e, taps = image.e, Taps.of(axes)
    reads = [_split_groups(e(read), groups) for read in tap_reads(e.emit, image.value, values.value, taps)]
    rows = e.concat([_taps_apart(read) for read in reads], 2)
    columns = _merge_axes(rows, [[0], [1, 2], [3]]).transpose([0, 2, 1])
    product = _split_groups(values, groups).apply(onnx.MatMulOp, columns)
    return product.apply(onnx.ReshapeOp, e.shape(like), allowzero=1)


def _split_groups(value: Value, groups: int) -> Value:
    """Reshape (N, G C, Y...) to (G, C, N Y)."""
    batch, channels, *spatial = (size_of(value, axis) for axis in range(value.rank))
    split = vector(value, [batch, groups, _per_group(channels, groups), *spatial])
    apart = value.apply(onnx.ReshapeOp, split, allowzero=1)
    moved = apart.transpose([1, 2, 0, *range(3, apart.rank)])
    return _merge_axes(moved, [[0], [1], list(range(2, moved.rank))])


def _taps_apart(value: Value) -> Value:
    """Reshape (G, C, P) to (G, C, 1, P)."""
    return value.unsqueeze([2])


def _merge_axes(value: Value, axes: Sequence[Sequence[int]]) -> Value:
    """Merge groups of adjacent axes."""
    sizes = [_product([size_of(value, axis) for axis in group]) for group in axes]
    return value.apply(onnx.ReshapeOp, vector(value, sizes), allowzero=1)


def _product(sizes: Sequence[int | Value]) -> int | Value:
    known = math.prod(size for size in sizes if isinstance(size, int))
    found: int | Value = known
    for size in sizes:
        if isinstance(size, Value):
            found = size if isinstance(found, int) and found == 1 else size * found
    return found


def _per_group(size: int | Value, groups: int) -> int | Value:
    if isinstance(size, int):
        return size // groups
    return size if groups == 1 else size / groups
