"""Maxima of windows, and their positions, along one axis at a time.

The maximum of a window is the maximum of its rows' maxima. The first row that has it counts, and in that row
the first position: so the gradient goes back along the first axis, then along the others, as if all positions
of the window were compared in row-major order.

An axis with stride s is viewed as (blocks, s): the reads of a tap are then a Slice without steps, of long
runs, or, on the last axis, a Slice of one part of a Split.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from dialects.grad.geometry import Window
from dialects.onnx import ops as onnx
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import Size, pad_axes, reshape, size_of
from passes.builder.values import Builder, Value


@dataclass(frozen=True)
class AxisWindows:
    """Windows along an axis of channels-first or -last data, which has `blocks` blocks of s positions."""

    window: Window
    axis: int

    @property
    def steps(self) -> list[tuple[int, int]]:
        """Block, and position in the block, of each tap's first read."""
        window = self.window
        return [divmod(k * window.dilation, window.stride) for k in range(window.kernel)]

    @property
    def further(self) -> int:
        """Number of blocks that the last window extends beyond its own."""
        return (self.window.extent - 1) // self.window.stride

    @property
    def beyond(self) -> int:
        """Number of positions of the last block after the last window."""
        return (self.further + 1) * self.window.stride - self.window.extent

    def length(self, count: SSAValue, emit: OpBuilder) -> SSAValue:
        """Return the number of positions in the blocks that `count` windows cover."""
        blocks = emit.add(count, emit.ints([self.further]))
        return emit.mul(blocks, emit.ints([self.window.stride]))

    def reads(self, data: Value, count: SSAValue) -> list[Value]:
        """Return the reads of each tap."""
        e, axis, stride = data.e, self.axis, self.window.stride
        emit = e.emit
        if stride > 1 and axis == data.rank - 1:
            return self._singles(data, count, emit)
        if stride > 1:
            data = self._blocks(data, count, emit)
        found: list[Value] = []
        for block, place in self.steps:
            begin, axes = [block], [axis]
            end = emit.add(count, emit.ints([block]))
            if stride > 1:
                begin, axes = [block, place], [axis, axis + 1]
                end = emit.concat([end, emit.ints([place + 1])])
            taken = e.emit(onnx.SliceOp(data.value, emit.ints(begin), end, emit.ints(axes)))
            found.append(e(e.emit(onnx.SqueezeOp(taken, e.emit.ints([axis + 1]))) if stride > 1 else taken))
        return found

    def _singles(self, data: Value, count: SSAValue, emit: OpBuilder) -> list[Value]:
        """Take every s-th position of the last axis by a Split: a strided Slice takes twice as long."""
        e, axis, stride = data.e, self.axis, self.window.stride
        split = onnx.SplitOp(
            self._blocks(data, count, emit).value, e.ints([1] * stride).value, axis=axis + 1, results=stride
        )
        columns = [e(column).squeeze([axis + 1]) for column in e.emit.all(split)]
        return [
            columns[place].apply(
                onnx.SliceOp,
                e.ints([block]),
                e(emit.add(count, emit.ints([block]))),
                e.ints([axis]),
            )
            for block, place in self.steps
        ]

    def _blocks(self, data: Value, count: SSAValue, emit: OpBuilder) -> Value:
        emit, stride = data.e.emit, self.window.stride
        sizes: list[Size] = [size_of(emit, data.value, axis) for axis in range(data.rank)]
        before, behind = sizes[: self.axis], sizes[self.axis + 1 :]
        dim = sizes[self.axis]
        blocks = dim // stride if isinstance(dim, int) else emit.add(count, emit.ints([self.further]))
        return data.e(reshape(emit, data.value, [*before, blocks, stride, *behind]))

    def gathered(self, parts: Sequence[Value]) -> Value:
        """Return the sums of the taps' contributions at the positions that they read."""
        first = parts[0]
        e, axis, stride = first.e, self.axis, self.window.stride
        sums = [self._sum_at_offset(parts, place) for place in range(stride)]
        if stride == 1:
            return sums[0]
        beside = e.ints([axis + 1])
        columns = [value.apply(onnx.UnsqueezeOp, beside).value for value in sums]
        joined = e.emit(onnx.ConcatOp(columns, axis=axis + 1))
        sizes = [size_of(e.emit, joined, index) for index in range(first.rank + 1)]
        emit, blocks = e.emit, sizes[axis]
        length = blocks * stride if isinstance(blocks, int) else emit.mul(blocks, emit.ints([stride]))
        return e(reshape(e.emit, joined, [*sizes[:axis], length, *sizes[axis + 2 :]]))

    def _sum_at_offset(self, parts: Sequence[Value], place: int) -> Value:
        given = [
            self._at_block(part, block)
            for part, (block, at) in zip(parts, self.steps, strict=True)
            if at == place
        ]
        if not given:
            like = self._at_block(parts[0], 0)
            return like.e.fill_like(0, like)
        total = given[0]
        for value in given[1:]:
            total = total + value
        return total

    def _at_block(self, part: Value, block: int) -> Value:
        """Pad with zeros for the blocks that a tap does not read."""
        before, behind = block, self.further - block
        if not before and not behind:
            return part
        sides = np.zeros((2, part.rank), np.int64)
        sides[:, self.axis] = before, behind
        return part.apply(onnx.PadOp, part.e.ints(sides.ravel().tolist()))


def backward(
    e: Builder, src: Value, diff_dst: Value, lines: Sequence[AxisWindows], begin: Sequence[int]
) -> Value:
    """Return the gradient of maxima along the lines, for windows of which the first begins at -begin."""
    emit = e.emit
    axes = [line.axis for line in lines]
    counts = [emit.sizes(diff_dst.value, [axis]) for axis in axes]
    lengths = emit.concat([line.length(count, emit) for line, count in zip(lines, counts, strict=True)])
    begins = emit.ints(begin)
    ends = emit.sub(emit.sub(lengths, emit.sizes(src.value, axes)), begins)
    is_whole = _fills(src, diff_dst, lines, begin)
    least = e.scalar(-np.inf, src)
    data = src if is_whole else e(pad_axes(emit, src.value, axes, begins, ends, least.value))
    taken: list[tuple[AxisWindows, list[Value], Value]] = []
    for line, count in reversed(list(zip(lines, counts, strict=True))):
        reads = line.reads(data, count)
        data = e(e.emit(onnx.MaxOp([value.value for value in reads]))) if len(reads) > 1 else reads[0]
        taken.append((line, reads, data))
    gradient = diff_dst
    for line, reads, largest in reversed(taken):
        gradient = line.gathered(_shares(e, reads, largest, gradient))
    if is_whole:
        return gradient
    zeros = emit.ints([0] * len(axes))
    return e(pad_axes(emit, gradient.value, axes, emit.sub(zeros, begins), emit.sub(zeros, ends)))


def _fills(src: Value, diff_dst: Value, lines: Sequence[AxisWindows], begin: Sequence[int]) -> bool:
    """Return whether the windows' blocks are statically the positions of src."""
    sizes = [(src.shape[line.axis], diff_dst.shape[line.axis]) for line in lines]
    return not any(begin) and all(
        isinstance(x, int) and isinstance(y, int) and x == (y + line.further) * line.window.stride
        for line, (x, y) in zip(lines, sizes, strict=True)
    )


def _shares(e: Builder, reads: Sequence[Value], largest: Value, gradient: Value) -> list[Value]:
    """Return the gradient for the first tap that equals the maximum, 0 for the others."""
    if e.strict_ieee:
        return _exact_shares(e, reads, largest, gradient)
    found: list[Value] = []
    rest = gradient
    for value in reads[:-1]:
        share = rest * value.equals(largest).cast(gradient.dtype)
        found.append(share)
        rest = rest - share
    return [*found, rest]


def _exact_shares(e: Builder, reads: Sequence[Value], largest: Value, gradient: Value) -> list[Value]:
    """Do `_shares` without a difference: that of two inf is NaN."""
    found: list[Value] = []
    before: Value | None = None
    for value in reads:
        is_largest = value.equals(largest)
        first = is_largest if before is None else is_largest & before.apply(onnx.NotOp)
        found.append(first.where(gradient, 0))
        before = is_largest if before is None else before.apply(onnx.OrOp, is_largest)
    return found


def without_nan(e: Builder, src: Value) -> Value:
    """Replace NaN by -inf: kernels treat NaN differently."""
    least = e.scalar(-np.inf, src)
    return (src >= least).where(src, least)
