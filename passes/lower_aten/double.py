"""Convolutions and sums over windows for f64, of which onnxruntime has no kernels.

A convolution is also the gradient of a transposed one, and the reverse; those canonical gradients are lowered
to products of matrices.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32

from dialects.grad.conv import conv_backward_data, conv_transpose_backward_data
from dialects.grad.geometry import ConvAxis, conv_axes
from dialects.onnx import ops as onnx
from passes.builder.values import Value


def convolve(x: Value, weight: Value, axes: Sequence[ConvAxis], groups: int) -> Value:
    """Return the convolution of (N, C, X...) with weights (O, C / groups, K...)."""
    made = conv_transpose_backward_data(x.value, weight.value, axes, groups, "NCX")
    return x.e(x.e.emit(made))


def convolve_transposed(
    x: Value, weight: Value, axes: Sequence[ConvAxis], groups: int, residue: Sequence[int] | None = None
) -> Value:
    """Return the transposed convolution of (N, C, X...) with weights (C, O / groups, K...); `residue`, less
    than the strides, are zeros at the end."""
    made = conv_backward_data(x.value, weight.value, axes, residue or [0] * len(axes), groups, "NCX")
    return x.e(x.e.emit(made))


def window_sums(
    x: Value, kernel: Sequence[int], strides: Sequence[int], begin: Sequence[int], end: Sequence[int]
) -> Value:
    """Return the sums over windows of x (N, C, X...), whose padding is zeros."""
    e, n = x.e, len(kernel)
    rows = e.concat([e.ints([-1, 1]), e(e.emit.sizes(x.value, range(2, 2 + n)))], 0)
    planes = x.apply(onnx.ReshapeOp, rows).assume_shape((None, 1, *x.shape[2:]))
    axes = conv_axes(kernel, strides, [1] * n, begin, end)
    sums = convolve(planes, e.constant(np.ones((1, 1, *kernel)), x), axes, 1)
    sizes = [e(e.emit.sizes(value.value, part)) for value, part in ((x, (0, 1)), (sums, range(2, 2 + n)))]
    return sums.apply(onnx.ReshapeOp, e.concat(sizes, 0))


def window_counts(
    sizes: Value, kernel: Sequence[int], strides: Sequence[int], begin: Sequence[int], end: Sequence[int]
) -> Value:
    """Return the number of elements of each window in data of spatial sizes X...: (1, 1, Y...), in f32."""
    e = sizes.e
    ones = e.number(1, f32).apply(onnx.ExpandOp, e.concat([e.ints([1, 1]), sizes], 0))
    weight = e.constant(np.ones((1, 1, *kernel), np.float32))
    return ones.apply(onnx.ConvOp, weight, None, kernel_shape=kernel, strides=strides, pads=[*begin, *end])
