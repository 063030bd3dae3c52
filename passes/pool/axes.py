"""Maxima of windows, and where they are, along one axis at a time.

The largest of a window is the largest of its rows' largest. Of the rows that have it the first counts, and
in that row the first place: so the gradient goes back along the first axis, then along the others, and is
the same as if all places of the window were asked in row-major order.

An axis of windows s apart is seen as (blocks, s): what a tap reads is then a Slice without steps, of long
runs, where the axis is not the last, and else a Slice of one part of a Split.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from dialects.grad.geometry import Window
from dialects.onnx import ops as onnx
from passes.emit.expressions import Expr, Operators
from passes.emit.shape_math import ShapeMath
from passes.emit.tensors import Size, reshape, size_of


@dataclass(frozen=True)
class Line:
    """The windows along an axis of channels-first or -last data, which has `blocks` blocks of s places."""

    window: Window
    axis: int

    @property
    def steps(self) -> list[tuple[int, int]]:
        """For each tap, the block and the place in the block where its first read is."""
        window = self.window
        return [divmod(k * window.dilation, window.stride) for k in range(window.kernel)]

    @property
    def further(self) -> int:
        """Blocks that the last window reaches beyond its own."""
        return (self.window.extent - 1) // self.window.stride

    @property
    def beyond(self) -> int:
        """Places of the last block behind the last window."""
        return (self.further + 1) * self.window.stride - self.window.extent

    def length(self, count: SSAValue, math: ShapeMath) -> SSAValue:
        """Places of the blocks that `count` windows reach."""
        blocks = math.add(count, math.vector([self.further]))
        return math.mul(blocks, math.vector([self.window.stride]))

    def reads(self, data: Expr, count: SSAValue) -> list[Expr]:
        """What each tap reads."""
        e, axis, stride = data.e, self.axis, self.window.stride
        math = ShapeMath(e.emit)
        if stride > 1 and axis == data.rank - 1:
            return self._singles(data, count, math)
        if stride > 1:
            data = self._blocks(data, count, math)
        found: list[Expr] = []
        for block, place in self.steps:
            begin, axes = [block], [axis]
            end = math.add(count, math.vector([block]))
            if stride > 1:
                begin, axes = [block, place], [axis, axis + 1]
                end = math.concat([end, math.vector([place + 1])])
            taken = e.emit(onnx.SliceOp(data.value, math.vector(begin), end, math.vector(axes)))
            found.append(e(e.emit(onnx.SqueezeOp(taken, e.emit.ints([axis + 1]))) if stride > 1 else taken))
        return found

    def _singles(self, data: Expr, count: SSAValue, math: ShapeMath) -> list[Expr]:
        """Every s-th place of the last axis. Slices with steps take twice as long as a Split into all."""
        e, axis, stride = data.e, self.axis, self.window.stride
        split = onnx.SplitOp(
            self._blocks(data, count, math).value, e.ints([1] * stride).value, axis=axis + 1, results=stride
        )
        columns = [e(column).apply(onnx.SqueezeOp, e.ints([axis + 1])) for column in e.emit.all(split)]
        return [
            columns[place].apply(
                onnx.SliceOp,
                e.ints([block]),
                e(math.add(count, math.vector([block]))),
                e.ints([axis]),
            )
            for block, place in self.steps
        ]

    def _blocks(self, data: Expr, count: SSAValue, math: ShapeMath) -> Expr:
        emit, stride = data.e.emit, self.window.stride
        sizes: list[Size] = [size_of(emit, data.value, axis) for axis in range(data.rank)]
        before, behind = sizes[: self.axis], sizes[self.axis + 1 :]
        dim = sizes[self.axis]
        blocks = dim // stride if isinstance(dim, int) else math.add(count, math.vector([self.further]))
        return data.e(reshape(emit, data.value, [*before, blocks, stride, *behind]))

    def gathered(self, parts: Sequence[Expr]) -> Expr:
        """The sums of what each tap gives to the places that it read."""
        first = parts[0]
        e, axis, stride = first.e, self.axis, self.window.stride
        sums = [self._of_place(parts, place) for place in range(stride)]
        if stride == 1:
            return sums[0]
        beside = e.ints([axis + 1])
        columns = [value.apply(onnx.UnsqueezeOp, beside).value for value in sums]
        joined = e.emit(onnx.ConcatOp(columns, axis=axis + 1))
        sizes = [size_of(e.emit, joined, index) for index in range(first.rank + 1)]
        blocks, math = sizes[axis], ShapeMath(e.emit)
        length = blocks * stride if isinstance(blocks, int) else math.mul(blocks, math.vector([stride]))
        return e(reshape(e.emit, joined, [*sizes[:axis], length, *sizes[axis + 2 :]]))

    def _of_place(self, parts: Sequence[Expr], place: int) -> Expr:
        given = [
            self._at_block(part, block)
            for part, (block, at) in zip(parts, self.steps, strict=True)
            if at == place
        ]
        if not given:
            like = self._at_block(parts[0], 0)
            return like.e.filled(0, like)
        total = given[0]
        for value in given[1:]:
            total = total + value
        return total

    def _at_block(self, part: Expr, block: int) -> Expr:
        """With zeros for the blocks that a tap does not read."""
        before, behind = block, self.further - block
        if not before and not behind:
            return part
        sides = np.zeros((2, part.rank), np.int64)
        sides[:, self.axis] = before, behind
        return part.apply(onnx.PadOp, part.e.ints(sides.ravel().tolist()))


def backward(e: Operators, src: Expr, diff_dst: Expr, lines: Sequence[Line], begin: Sequence[int]) -> Expr:
    """The gradient of maxima along the lines, for windows of which the first begins at -begin."""
    math = ShapeMath(e.emit)
    axes = [line.axis for line in lines]
    counts = [math.sizes(diff_dst.value, [axis]) for axis in axes]
    lengths = math.concat([line.length(count, math) for line, count in zip(lines, counts, strict=True)])
    begins = math.vector(begin)
    ends = math.sub(math.sub(lengths, math.sizes(src.value, axes)), begins)
    is_whole = _fills(src, diff_dst, lines, begin)
    least = e.scalar(-np.inf, src)
    data = src if is_whole else _padded(src, begins, ends, axes, math, least)
    taken: list[tuple[Line, list[Expr], Expr]] = []
    for line, count in reversed(list(zip(lines, counts, strict=True))):
        reads = line.reads(data, count)
        data = e(e.emit(onnx.MaxOp([value.value for value in reads]))) if len(reads) > 1 else reads[0]
        taken.append((line, reads, data))
    gradient = diff_dst
    for line, reads, largest in reversed(taken):
        gradient = line.gathered(_shares(e, reads, largest, gradient))
    if is_whole:
        return gradient
    zeros = math.vector([0] * len(axes))
    return _padded(gradient, math.sub(zeros, begins), math.sub(zeros, ends), axes, math)


def _fills(src: Expr, diff_dst: Expr, lines: Sequence[Line], begin: Sequence[int]) -> bool:
    """Whether the windows' blocks are known to be the places of src."""
    sizes = [(src.shape[line.axis], diff_dst.shape[line.axis]) for line in lines]
    return not any(begin) and all(
        isinstance(x, int) and isinstance(y, int) and x == (y + line.further) * line.window.stride
        for line, (x, y) in zip(lines, sizes, strict=True)
    )


def _padded(
    data: Expr, begin: SSAValue, end: SSAValue, axes: Sequence[int], math: ShapeMath, fill: Expr | None = None
) -> Expr:
    sides = math.concat([math.spread(side, axes, data.rank) for side in (begin, end)])
    return data.apply(onnx.PadOp, data.e(sides), fill)


def _shares(e: Operators, reads: Sequence[Expr], largest: Expr, gradient: Expr) -> list[Expr]:
    """The gradient for the first tap that has the largest, 0 for the others."""
    if e.strict_ieee:
        return _exact_shares(e, reads, largest, gradient)
    found: list[Expr] = []
    rest = gradient
    for value in reads[:-1]:
        share = rest * value.equals(largest).cast(gradient.dtype)
        found.append(share)
        rest = rest - share
    return [*found, rest]


def _exact_shares(e: Operators, reads: Sequence[Expr], largest: Expr, gradient: Expr) -> list[Expr]:
    """Without a difference: that of two inf is NaN."""
    found: list[Expr] = []
    before: Expr | None = None
    for value in reads:
        is_largest = value.equals(largest)
        first = is_largest if before is None else is_largest & before.apply(onnx.NotOp)
        found.append(first.where(gradient, 0))
        before = is_largest if before is None else before.apply(onnx.OrOp, is_largest)
    return found


def without_nan(e: Operators, src: Expr) -> Expr:
    """With -inf for a NaN, which is greater than nothing: kernels differ in what they do with one."""
    least = e.scalar(-np.inf, src)
    return (src >= least).where(src, least)
