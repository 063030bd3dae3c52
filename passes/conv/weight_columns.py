"""Columns: the reads of several taps, concatenated so that one product serves them.

Taps are joined along the last spatial axes. The reads of a tap along an axis are a Slice; along the axes that
are not joined, they are Slices of the columns, which contain those axes whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from dialects.grad.conv_weights import ConvBackwardWeightsOp
from dialects.grad.geometry import ConvAxis, Window
from dialects.onnx import ops as onnx
from dialects.support import shapes
from dialects.support.shapes import shape_of
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import pad_axes, product, reshape, size_of
from passes.conv.weight_gradients import channels_first, product_of


@dataclass(frozen=True)
class Sliding:
    """Windows over data with spatial axes from `first` on; diff_dst has one position per window."""

    emit: OpBuilder
    axes: Sequence[ConvAxis]
    diff_dst: SSAValue
    first: int

    def pad_src(self, src: SSAValue) -> SSAValue:
        begin, end = zip(*(axis.pads for axis in self.axes), strict=True)
        if not any((*begin, *end)):
            return src
        axes = range(self.first, self.first + len(self.axes))
        return pad_axes(self.emit, src, axes, self.emit.ints(begin), self.emit.ints(end))

    def reads(self, data: SSAValue, index: int, shift: int = 0) -> Iterator[SSAValue]:
        """Yield the reads of each tap along an axis, with `shift` new axes before it."""
        window, axis = self.axes[index].window, self.first + index
        if window.kernel == window.stride == 1:
            yield data
            return
        stride, place = self.emit.ints([window.stride]), self.emit.ints([axis + shift])
        reach = self.emit.mul(self.emit.sizes(self.diff_dst, [axis]), stride)
        steps = [stride] if window.stride > 1 else []
        for tap in range(window.kernel):
            begin = self.emit.ints([tap * window.dilation])
            yield self.emit(onnx.SliceOp(data, begin, self.emit.add(begin, reach), place, *steps))

    def all_reads(self, data: SSAValue, count: int, shift: int) -> list[SSAValue]:
        """Return the reads of the taps along the first `count` axes, in order."""
        found = [data]
        for index in range(count):
            found = [read for value in found for read in self.reads(value, index, shift)]
        return found


def concat_values(emit: OpBuilder, values: Sequence[SSAValue], axis: int) -> SSAValue:
    return emit(onnx.ConcatOp(list(values), axis=axis)) if len(values) > 1 else values[0]


def by_columns(op: ConvBackwardWeightsOp, emit: OpBuilder, count: int) -> SSAValue:
    """Multiply once for all taps along the last `count` axes, for each tap of the others; channels first.

    The taps of a channel are adjacent, (N, C, taps, Y...), as in the weights.
    """
    shape = shapes.static_shape(op.diff_weights)
    assert shape is not None
    src, diff_dst, axes = _without_batch(op, emit)
    sliding = Sliding(emit, axes, diff_dst, 2)
    outer = len(axes) - count
    columns = emit(onnx.UnsqueezeOp(sliding.pad_src(src), emit.ints([2])))
    for index in reversed(range(outer, len(axes))):
        columns = concat_values(emit, list(sliding.reads(columns, index, 1)), 2)
    found = [product_of(emit, diff_dst, v, op.groups) for v in sliding.all_reads(columns, outer, 1)]
    if len(found) > 1:
        sizes = emit.ints([shape[0], shape[1], 1, -1])
        found = [emit(onnx.ReshapeOp(value, sizes)) for value in found]
    return reshape(emit, concat_values(emit, found, 2), list(shape))


def _without_batch(
    op: ConvBackwardWeightsOp, emit: OpBuilder
) -> tuple[SSAValue, SSAValue, tuple[ConvAxis, ...]]:
    """Return src, diff_dst and axes with a batch of 1; the images become another spatial axis. Not for a
    batch that is known to be empty."""
    src, diff_dst = channels_first(op, emit)
    if shape_of(src)[0] in (0, 1):
        return src, diff_dst, op.axes
    perm = [1, 0, *range(2, len(shape_of(src)))]
    first, image = emit.ints([0]), ConvAxis(Window(1, 1, 1), 0, 0)
    moved = (emit(onnx.TransposeOp(value, perm=perm)) for value in (src, diff_dst))
    src, diff_dst = (emit(onnx.UnsqueezeOp(value, first)) for value in moved)
    return src, diff_dst, (image, *op.axes)


def by_channels_last_columns(op: ConvBackwardWeightsOp, emit: OpBuilder) -> SSAValue:
    """Do `by_columns` for channels-last data with the taps of the last axis joined, (N, Y..., taps C);
    products contract the first axes of both matrices."""
    shape = shapes.static_shape(op.diff_weights)
    assert shape is not None
    out, channels, *kernel = shape
    n = len(kernel)
    sliding = Sliding(emit, op.axes, op.diff_dst, 1)
    columns = concat_values(emit, list(sliding.reads(sliding.pad_src(op.src), n - 1)), n + 1)
    length = product(emit, [size_of(emit, op.diff_dst, axis) for axis in range(n + 1)])
    left = reshape(emit, op.diff_dst, [length, out])
    rows = [reshape(emit, v, [length, kernel[-1] * channels]) for v in sliding.all_reads(columns, n - 1, 0)]
    found = concat_values(emit, [emit(onnx.GemmOp(left, value, transA=1)) for value in rows], 1)
    turned = reshape(emit, found, [out, *kernel, channels])
    return emit(onnx.TransposeOp(turned, perm=[0, n + 1, *range(1, n + 1)]))
