"""A stride-1 convolution on three axes as convolutions of one image, without a copy per tap.

Depth and height together are the rows of the image. Each slice is zero-padded to P rows, at least as many as
its pads need: then a window that leaves a slice at its top or bottom reads zeros, and two slices share them.
With f zeros in front, row f + h of a slice is that of height h, and row o + h' of a slice of the result that
of height h':

    result[d', h'] = sum over kd, kh of tap[kd, kh] rows[(d' + kd dd - pb_d) P + f + h' + kh dh - pb_h].

For one kh that is a convolution of kernel KD and dilation dd P along the rows, with pads

    begin = pb_d P + pb_h - kh dh - (f - o),    end = pe_d P - pb_h + kh dh + (f - o),

all KH of which yield the same rows of the result, so that they are summed directly. If KD = 1, KH may be the
kernel instead, and one convolution suffices. f - o keeps the pads nonnegative; without depth pads, a slice
behind the last one may have to be computed and is cropped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.support.shapes import is_static, shape_of, static, static_size
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import crop, product, reshape, size_of, sum_values
from passes.conv.blocks import to_blocks
from passes.conv.convolution import Convolution, GradConv, convolve, no_sums


@dataclass(frozen=True)
class Slices:
    """Rows P of a slice, zeros f before its data, first row o of its result, and the number of slices
    computed beyond the result."""

    rows: int
    before: int
    first: int
    beyond: int

    @classmethod
    def of(cls, height: int, kernel: tuple[int, int], conv: Convolution) -> Slices:
        """Return the layout for slices of `height` and the kernel (KD, KH)."""
        begin, end = conv.begin[1], conv.end[1]
        span = (kernel[1] - 1) * conv.dilations[1]
        rows = max(height + max(begin, end), height + begin + end - span)
        # rows spanned by the taps of one kernel, and rows by which the convolutions are shifted
        within, across = (span, 0) if kernel[0] == 1 else (0, span)
        beyond = max(0, -(-(across - within) // rows) - conv.begin[0] - conv.end[0])
        lowest = begin - (conv.end[0] + beyond) * rows - within
        highest = begin + conv.begin[0] * rows - across
        shift = min(max(0, lowest), highest)
        return cls(rows, max(shift, 0), max(-shift, 0), beyond)


def rows_cost(op: GradConv) -> CompileTimeCost:
    """Return the cost of `convolve_rows`, for the op or for one of its phases.

    P exceeds the smaller height by less than twice all pads, and at most two more slices are computed.
    """
    axis, rows = op.axes[1], static(op.spatial(op.diff_src)[:2]) or (0,)
    reach = axis.window.extent + axis.window.stride + sum(axis.pads)
    constants = axis.window.kernel + math.prod(rows)
    return CompileTimeCost(constants, 40 + 4 * axis.window.kernel, 3 * (1 + 2 * reach))


def no_rows(op: GradConv) -> str | None:
    """Return why `convolve_rows` cannot lower the op or its phases, or None."""
    if reason := no_sums(op):
        return reason
    if not is_static(op.spatial(op.diff_dst)[:2]):
        return "the axes that are merged must have static sizes"
    batch = shape_of(op.diff_dst)[0]
    if not isinstance(batch, int) or batch == 0:
        return "the batch must be static and not 0: onnxruntime fails to add empty convolutions"
    return None


def convolve_rows(
    emit: OpBuilder, data: SSAValue, weights: SSAValue, conv: Convolution, axis: int, shared: bool = False
) -> SSAValue:
    """Convolve data (N, C, D, H, W), or (N, D, H, W, C) if the first spatial `axis` is 1.

    D and H are static, the weights are (M, C / g, KD, KH, KW). `shared`: see `to_blocks`.
    """
    depth, height = (static_size(data, axis + i) for i in range(2))
    kernel = (static_size(weights, 2), static_size(weights, 3))
    slices = Slices.of(height, kernel, conv)
    image = _image(emit, data, axis, slices)
    if axis == 1:
        image = to_blocks(emit, image, shared and 1 not in kernel)
    value = sum_values(
        emit, [convolve(emit, image, *plane) for plane in _planes(emit, weights, conv, slices)]
    )
    count, results = (
        size + conv.begin[i] + conv.end[i] - (kernel[i] - 1) * conv.dilations[i]
        for i, size in enumerate((depth, height))
    )
    if axis == 1:
        return _crop_last(emit, value, slices, count, results)
    sizes = [size_of(emit, value, i) for i in range(4)]
    value = reshape(emit, value, [*sizes[:axis], count + slices.beyond, slices.rows, *sizes[axis + 1 :]])
    return crop(emit, value, (axis, axis + 1), (count, results), (0, slices.first))


def _crop_last(emit: OpBuilder, value: SSAValue, slices: Slices, count: int, results: int) -> SSAValue:
    """Crop and transpose to channels last in one Gather: onnxruntime would move the Transpose behind a
    Reshape, where it is no longer one of images."""
    rows = np.arange(count)[:, None] * slices.rows + slices.first + np.arange(results)
    value = emit(onnx.TransposeOp(value, perm=[0, 2, 3, 1]))
    return emit(onnx.GatherOp(value, emit.constant(rows), axis=1))


def _image(emit: OpBuilder, data: SSAValue, axis: int, slices: Slices) -> SSAValue:
    """Concatenate the zero-padded slices along the rows."""
    depth, height = (static_size(data, axis + i) for i in range(2))
    if slices.rows > height:
        zeros = np.zeros((2, 5), int)
        zeros[:, axis + 1] = slices.before, slices.rows - height - slices.before
        data = emit(onnx.PadOp(data, emit.ints(zeros.ravel().tolist())))
    sizes = [size_of(emit, data, i) for i in range(5)]
    rows = product(emit, [depth, slices.rows])
    return reshape(emit, data, [*sizes[:axis], rows, *sizes[axis + 2 :]])


def _planes(
    emit: OpBuilder, weights: SSAValue, conv: Convolution, slices: Slices
) -> Iterator[tuple[SSAValue, Convolution]]:
    """Yield weights (M, C / g, K, KW) and geometry of each convolution of the image."""
    deep, high = (static_size(weights, axis) for axis in (2, 3))
    step = conv.dilations[1]
    shift = conv.begin[1] - (slices.before - slices.first)
    begin, end = conv.begin[0] * slices.rows + shift, (conv.end[0] + slices.beyond) * slices.rows - shift
    if deep == 1:
        taps = emit(onnx.SqueezeOp(weights, emit.ints([2])))
        yield taps, _plane(conv, step, begin, end + (high - 1) * step)
        return
    for tap in range(high):
        taps = emit(onnx.GatherOp(weights, emit.constant(np.array(tap, np.int64)), axis=3))
        yield taps, _plane(conv, conv.dilations[0] * slices.rows, begin - tap * step, end + tap * step)


def _plane(conv: Convolution, dilation: int, begin: int, end: int) -> Convolution:
    return Convolution(
        (1, 1), (dilation, conv.dilations[2]), (begin, conv.begin[2]), (end, conv.end[2]), conv.groups
    )
