"""Blocks of images as columns, and the sum of columns into images."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from xdsl.dialects.builtin import f64

from dialects.grad.geometry import ConvAxis, conv_axes
from dialects.onnx import ops as onnx
from dialects.support.shapes import show
from passes.autodiff.rules.col2im import columns_of
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call, Rule
from passes.lower_aten.double import convolve_transposed
from passes.lower_aten.windows import per_axis


def blocks(f: Call, e: Builder) -> Value:
    """(N, C, H, W) to (N, C times the block's size, number of blocks)."""
    x = f.self if f.self.rank == 4 else f.self.unsqueeze([0])
    kernel, dilations, pads, strides = (
        per_axis(f, given, 2) for given in (f.kernel_size, f.dilation, f.padding, f.stride)
    )
    if any(pads):
        x = x.apply(onnx.PadOp, e.ints([0, 0, *pads, 0, 0, *pads]))
    columns = columns_of(x, e.ints(kernel), strides, dilations)
    shape = f.shape if f.self.rank == 4 else (1, *f.shape)
    made = columns.apply(onnx.ReshapeOp, f.vector(shape), allowzero=1)
    return made if f.self.rank == 4 else made.squeeze([0])


def images(f: Call, e: Builder) -> Value:
    """The sum of the columns at the places of their blocks."""
    x = f.self if f.self.rank == 3 else f.self.unsqueeze([0])
    kernel, dilations, pads, strides = (
        per_axis(f, given, 2) for given in (f.kernel_size, f.dilation, f.padding, f.stride)
    )
    axes = conv_axes(kernel, strides, dilations, pads, pads)
    if x.dtype == f64:
        made = _images_in_double(f, x, axes)
    else:
        made = x.apply(
            onnx.Col2ImOp,
            f.vector(f.shape[-2:]),
            e.ints(kernel),
            dilations=dilations,
            pads=[*pads, *pads],
            strides=strides,
        )
    return made if f.self.rank == 3 else made.squeeze([0])


def _images_in_double(f: Call, x: Value, axes: Sequence[ConvAxis]) -> Value:
    """Return the transposed convolution with a kernel of one 1 for each tap: Col2Im has no kernel for f64."""
    channels, *sizes = f.shape[-3:]
    known = [size for size in sizes if isinstance(size, int)]
    if not isinstance(channels, int) or len(known) != len(sizes):
        hint = "float32, or sizes that no dim is in"
        raise f.refusal("sizes of f64 images", given=show(f.shape), expected="fixed ones", hint=hint)
    rows = list(zip(axes, known, strict=True))
    forward = [axis.forward_size(size) for axis, size in rows]
    counts = [count for count in forward if isinstance(count, int)]
    residue = [axis.window.residue(size, *axis.pads) for axis, size in rows]
    kernel = [axis.window.kernel for axis in axes]
    taps = math.prod(kernel)
    columns = x.apply(onnx.ReshapeOp, x.e.ints([-1, channels * taps, *counts]))
    weight = np.tile(np.eye(taps).reshape(taps, 1, *kernel), (channels, 1, 1, 1))
    columns = columns.assume_shape((x.shape[0], *columns.shape[1:]))
    return convolve_transposed(columns, x.e.constant(weight, x), axes, channels, residue)


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "col2im.default": images,
        "im2col.default": blocks,
    }
)
