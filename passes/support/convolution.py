"""Convolutions as onnxruntime's quick kernels want them, and transposed ones as convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from dialects.grad.conv import ConvBackwardDataOp, ConvTransposeBackwardDataOp
from dialects.grad.geometry import axis_letters
from dialects.onnx import ops as onnx
from dialects.support.shapes import shape_of
from passes.support.rewriting import Emitter
from passes.support.tensors import flip_spatial, product, reshape, size_of, swap_channels

GradConv = ConvBackwardDataOp | ConvTransposeBackwardDataOp


@dataclass(frozen=True)
class Convolution:
    """What a Conv does beside its operands: one entry per spatial axis."""

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begin: tuple[int, ...]
    end: tuple[int, ...]
    groups: int

    def axes(self, keep: slice) -> Convolution:
        """The convolution of some of the axes."""
        return Convolution(
            self.strides[keep], self.dilations[keep], self.begin[keep], self.end[keep], self.groups
        )


def no_convolution(op: GradConv) -> str | None:
    """Why the op is not one convolution of diff_dst, None if it is."""
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


def as_convolution(emit: Emitter, op: GradConv) -> tuple[SSAValue, Convolution]:
    """Weights (C, O / g, K...) and geometry of the convolution of diff_dst that the op is."""
    begin, end = op.value("pads_begin"), op.value("pads_end")
    weights: SSAValue = op.weights
    if isinstance(op, ConvBackwardDataOp):
        weights = flip_spatial(emit, swap_channels(emit, weights, op.value("groups")))
        begin = [axis.window.extent - 1 - axis.pad_begin for axis in op.axes]
        end = [axis.window.extent - 1 - axis.pad_end for axis in op.axes]
    strides, dilations = tuple(op.value("strides")), tuple(op.value("dilations"))
    return weights, Convolution(strides, dilations, tuple(begin), tuple(end), op.value("groups"))


def convolve(emit: Emitter, data: SSAValue, weights: SSAValue, conv: Convolution) -> SSAValue:
    """Conv, of any rank."""
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


def convolve_planes(emit: Emitter, data: SSAValue, weights: SSAValue, conv: Convolution) -> SSAValue:
    """A convolution by Conv on two axes only: onnxruntime has blocked kernels for no other rank.

    One axis becomes a row. Of three, the first is unrolled: see `_deep`.
    """
    match len(conv.strides):
        case 1:
            return _row(emit, data, weights, conv)
        case 3:
            return _deep(emit, data, weights, conv)
        case _:
            return convolve(emit, data, weights, conv)


def _row(emit: Emitter, data: SSAValue, weights: SSAValue, conv: Convolution) -> SSAValue:
    height = emit.ints([2])
    rows, kernel = (emit(onnx.UnsqueezeOp(value, height)) for value in (data, weights))
    lists = ((1, *conv.strides), (1, *conv.dilations), (0, *conv.begin), (0, *conv.end))
    value = convolve(emit, rows, kernel, Convolution(*lists, conv.groups))
    return emit(onnx.SqueezeOp(value, height))


def _deep(emit: Emitter, data: SSAValue, weights: SSAValue, conv: Convolution) -> SSAValue:
    """Every slice of the depth is an image; the taps of the depth are channels of it.

    data (N, C, D, H, W) as (N, D', K C, H, W), the K slices that a result slice reads one behind the
    other; weights (M, C, K, kh, kw) as (M, K C, kh, kw). One group only.
    """
    assert conv.groups == 1
    slices = emit(onnx.TransposeOp(data, perm=[0, 2, 1, 3, 4]))
    if conv.begin[0] or conv.end[0]:
        slices = emit(onnx.PadOp(slices, emit.ints([0, conv.begin[0], *[0] * 4, conv.end[0], *[0] * 3])))
    depth = shape_of(slices)[1]
    out, channels, taps, *kernel = (k for k in shape_of(weights) if isinstance(k, int))
    assert isinstance(depth, int)
    stride, dilation = conv.strides[0], conv.dilations[0]
    count = (depth - (taps - 1) * dilation - 1) // stride + 1
    parts = [_strided(emit, slices, tap * dilation, stride, count) for tap in range(taps)]
    stacked = emit(onnx.ConcatOp(parts, axis=2)) if taps > 1 else parts[0]
    batch = size_of(emit, data, 0)
    height, width = (size_of(emit, data, axis) for axis in (3, 4))
    images = reshape(emit, stacked, [product(emit, [batch, count]), taps * channels, height, width])
    matrix = emit(onnx.TransposeOp(weights, perm=[0, 2, 1, 3, 4]))
    matrix = reshape(emit, matrix, [out, taps * channels, *kernel])
    value = convolve(emit, images, matrix, conv.axes(slice(1, None)))
    sizes = [size_of(emit, value, axis) for axis in (2, 3)]
    return emit(onnx.TransposeOp(reshape(emit, value, [batch, count, out, *sizes]), perm=[0, 2, 1, 3, 4]))


def _strided(emit: Emitter, value: SSAValue, start: int, step: int, count: int) -> SSAValue:
    """Positions start, start + step, .. of axis 1."""
    if count == shape_of(value)[1]:
        return value
    bounds = (start, start + step * (count - 1) + 1, 1, step)
    return emit(onnx.SliceOp(value, *(emit.ints([bound]) for bound in bounds)))


def crop(emit: Emitter, value: SSAValue, axes: Sequence[int], sizes: Sequence[int]) -> SSAValue:
    """The first `sizes` positions of axes."""
    if all(shape_of(value)[axis] == size for axis, size in zip(axes, sizes, strict=True)):
        return value
    return emit(onnx.SliceOp(value, emit.ints([0] * len(sizes)), emit.ints(sizes), emit.ints(axes)))
