"""Convolutions in the form of onnxruntime's fast kernels, and transposed ones as convolutions."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from dialects.grad.conv import ConvBackwardDataOp, ConvTransposeBackwardDataOp
from dialects.grad.geometry import axis_letters
from dialects.onnx import ops as onnx
from dialects.support.dtypes import HALVES, name_of
from dialects.support.shapes import element_type_of, shape_of
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import Size, product, reshape, size_of
from passes.conv.blocks import to_blocks
from passes.conv.weights import flip_kernel

GradConv = ConvBackwardDataOp | ConvTransposeBackwardDataOp

CONV_SPREADS_NONFINITE = (
    "Conv multiplies zeros around the data by the weights, and onnxruntime pads the channels of a Conv "
    "that another one reads with zeros"
)
"""`Strategy.spreads_nonfinite` of lowerings with Conv. The second was seen with onnxruntime 1.31: of 20
channels in blocks of 16, the last block has channels 0 * data, so NaN for inf, which the next Conv
multiplies by 0. A depthwise Conv with finite weights does neither.
"""


@dataclass(frozen=True)
class Convolution:
    """Attributes of a Conv, with one entry per spatial axis."""

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begin: tuple[int, ...]
    end: tuple[int, ...]
    groups: int

    def axes(self, keep: slice) -> Convolution:
        """Return the convolution restricted to a slice of the axes."""
        return Convolution(
            self.strides[keep], self.dilations[keep], self.begin[keep], self.end[keep], self.groups
        )


def no_convolution(op: GradConv) -> str | None:
    """Return why the op is not a single convolution of diff_dst, or None."""
    if isinstance(op, ConvTransposeBackwardDataOp):
        return None
    for letter, axis in zip(axis_letters(len(op.axes)), op.axes, strict=True):
        if axis.window.stride != 1:
            return f"stride {axis.window.stride} on axis {letter}: only stride 1 is a convolution"
        if max(axis.pads) >= axis.window.extent:
            return (
                f"pads {axis.pads} on axis {letter} reach the kernel extent {axis.window.extent}: "
                "the convolution would need negative pads"
            )
    return None


def no_sums(op: GradConv) -> str | None:
    """Return why the op cannot be a sum of several products, or None."""
    dtype = name_of(element_type_of(op.diff_dst))
    return f"every sum would round to {dtype}" if dtype in HALVES else None


def as_convolution(emit: OpBuilder, op: GradConv) -> tuple[SSAValue, Convolution]:
    """Return weights (C, O / g, K...) and geometry of the op as a convolution of diff_dst."""
    is_flipped = isinstance(op, ConvBackwardDataOp)
    weights = flip_kernel(emit, op.weights, op.groups) if is_flipped else op.weights
    return weights, convolution_of(op)


def convolution_of(op: GradConv) -> Convolution:
    """Return the geometry of the op as a convolution of diff_dst."""
    begin, end = op.pads_begin, op.pads_end
    if isinstance(op, ConvBackwardDataOp):
        begin = [axis.window.extent - 1 - axis.pad_begin for axis in op.axes]
        end = [axis.window.extent - 1 - axis.pad_end for axis in op.axes]
    strides, dilations = tuple(op.strides), tuple(op.dilations)
    return Convolution(strides, dilations, tuple(begin), tuple(end), op.groups)


def convolve(emit: OpBuilder, data: SSAValue, weights: SSAValue, conv: Convolution) -> SSAValue:
    """Create a Conv of any rank."""
    return emit(
        onnx.ConvOp(
            data,
            weights,
            group=conv.groups,
            strides=conv.strides,
            dilations=conv.dilations,
            pads=[*conv.begin, *conv.end],
        )
    )


def convolve_planes(emit: OpBuilder, data: SSAValue, weights: SSAValue, conv: Convolution) -> SSAValue:
    """Convolve by a Conv on two axes only: onnxruntime has blocked kernels for no other rank.

    A line becomes an image of one row. A volume is unrolled along its first axis: see `_unroll_depth`.
    """
    match len(conv.strides):
        case 1:
            height = emit.ints([2])
            value = convolve(emit, emit(onnx.UnsqueezeOp(data, height)), *_row(emit, weights, conv))
            return emit(onnx.SqueezeOp(value, height))
        case 3:
            slices = emit(onnx.TransposeOp(data, perm=[0, 2, 1, 3, 4]))
            images, count = _unroll_depth(emit, slices, 2, weights, conv)
            value = convolve(emit, images, *_flat(emit, weights, conv))
            value = reshape(emit, value, [size_of(emit, data, 0), count, *_sizes(emit, value, 1)])
            return emit(onnx.TransposeOp(value, perm=[0, 2, 1, 3, 4]))
        case _:
            return convolve(emit, data, weights, conv)


def convolve_planes_last(
    emit: OpBuilder, data: SSAValue, weights: SSAValue, conv: Convolution, shared: bool = False
) -> SSAValue:
    """Do `convolve_planes` for data (N, X.., C), with a result of that layout.

    onnxruntime fuses Transposes of images with its own reordering. `shared` if others read the same data: see
    `to_blocks`.
    """
    batch = size_of(emit, data, 0)
    match len(conv.strides):
        case 1:
            height = emit.ints([1])
            images = emit(onnx.UnsqueezeOp(data, height))
            value = _convolve_last(emit, images, *_row(emit, weights, conv), shared)
            return emit(onnx.SqueezeOp(value, height))
        case 3:
            images, count = _unroll_depth(emit, data, 4, weights, conv)
            value = _convolve_last(emit, images, *_flat(emit, weights, conv))
            return reshape(emit, value, [batch, count, *_sizes(emit, value, 1)])
        case _:
            return _convolve_last(emit, data, weights, conv, shared)


def _convolve_last(
    emit: OpBuilder, images: SSAValue, weights: SSAValue, conv: Convolution, shared: bool = False
) -> SSAValue:
    first = to_blocks(emit, images, shared)
    return emit(onnx.TransposeOp(convolve(emit, first, weights, conv), perm=[0, 2, 3, 1]))


def _sizes(emit: OpBuilder, value: SSAValue, first: int) -> list[Size]:
    return [size_of(emit, value, axis) for axis in range(first, len(shape_of(value)))]


def _row(emit: OpBuilder, weights: SSAValue, conv: Convolution) -> tuple[SSAValue, Convolution]:
    """Return weights and geometry of a 1-D convolution for an image of one row."""
    lists = ((1, *conv.strides), (1, *conv.dilations), (0, *conv.begin), (0, *conv.end))
    return emit(onnx.UnsqueezeOp(weights, emit.ints([2]))), Convolution(*lists, conv.groups)


def _flat(emit: OpBuilder, weights: SSAValue, conv: Convolution) -> tuple[SSAValue, Convolution]:
    """Reshape weights (M, C, K, kh, kw) to (M, K C, kh, kw); drop the first axis of the geometry."""
    out, channels, taps, *kernel = (k for k in shape_of(weights) if isinstance(k, int))
    matrix = emit(onnx.TransposeOp(weights, perm=[0, 2, 1, 3, 4]))
    return reshape(emit, matrix, [out, taps * channels, *kernel]), conv.axes(slice(1, None))


def _unroll_depth(
    emit: OpBuilder, slices: SSAValue, channel_axis: int, weights: SSAValue, conv: Convolution
) -> tuple[SSAValue, int]:
    """Unroll slices (N, D, ..) to images (N D', ..), and return D'. The K input slices of an output slice are
    concatenated as channels. One group only."""
    assert conv.groups == 1
    rank = len(shape_of(slices))
    if conv.begin[0] or conv.end[0]:
        zeros = [0, conv.begin[0], *[0] * (rank - 1), conv.end[0], *[0] * (rank - 2)]
        slices = emit(onnx.PadOp(slices, emit.ints(zeros)))
    depth, taps = shape_of(slices)[1], shape_of(weights)[2]
    assert isinstance(depth, int)
    assert isinstance(taps, int)
    stride, dilation = conv.strides[0], conv.dilations[0]
    count = (depth - (taps - 1) * dilation - 1) // stride + 1
    parts = [strided_rows(emit, slices, tap * dilation, stride, count) for tap in range(taps)]
    stacked = emit(onnx.ConcatOp(parts, axis=channel_axis)) if taps > 1 else parts[0]
    batch, _, *image = _sizes(emit, stacked, 0)
    return reshape(emit, stacked, [product(emit, [batch, count]), *image]), count


def strided_rows(emit: OpBuilder, value: SSAValue, start: int, step: int, count: int) -> SSAValue:
    """Take positions start, start + step, .. of axis 1."""
    if count == shape_of(value)[1]:
        return value
    bounds = (start, start + step * (count - 1) + 1, 1, step)
    return emit(onnx.SliceOp(value, *(emit.ints([bound]) for bound in bounds)))
