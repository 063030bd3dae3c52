"""conv-nxc-to-row-sums: for channels-last data, one product per tap of the first axis, shifted and summed.

The reads of the taps are gathered for all axes but the first; a single axis needs no gathering. Every tap of
the first axis multiplies the same windows (N, Y, Q.., T O) by its own weights (T O, C), and the product of
row y belongs to row y - o of the result, if the tap reads at offset o.

Compared with conv-nxc-to-matmul, the windows hold the K taps of the first axis once, not K times, but K
products are added: it moves less data unless the result has more channels than the windows.

ConvTransposeBackwardData, a forward convolution with stride s: tap k of row i reads row s (i + o) + r. Each
remainder r has its own windows, of every s-th row.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.conv import ConvBackwardDataOp, ConvTransposeBackwardDataOp
from dialects.onnx import ops as onnx
from dialects.support import shapes
from dialects.support.shapes import shape_of
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import multiply_right, sum_values
from passes.conv.convolution import GradConv, no_sums, strided_rows
from passes.conv.phases import AxisPhases, Phase, interleave_channels_last, op_phases, phases_cost
from passes.conv.weights import TapRows
from passes.conv.windows import forward_taps, gather_taps, pad_spatial, phase_taps, tap_numbers
from passes.conv.work import Windows, count_interleave_last, data_sizes
from passes.cost.work import Sizes, Work
from passes.strategies.base import Strategy, no_kernel
from passes.strategies.conv.conv_to_phase_convs import too_many_phases
from passes.targets.target import Target

NEEDED = (onnx.MatMulOp, onnx.ConcatOp, onnx.PadOp, onnx.GatherOp, onnx.SliceOp, onnx.AddOp)


@dataclass(frozen=True)
class RowTap:
    """A tap of the first axis: row q of the result reads row q + `offset` among every s-th row of diff_dst,
    from `first` on. A gradient reads all rows."""

    tap: int
    first: int
    offset: int


class ConvNxcToRowSums(Strategy):
    """Products on windows of the inner axes, summed over the taps of the first."""

    name: ClassVar[str] = "conv-nxc-to-row-sums"
    ops: ClassVar = (ConvBackwardDataOp, ConvTransposeBackwardDataOp)
    layouts: ClassVar = ("NXC",)

    def compile_time_cost(self, op: GradConv) -> CompileTimeCost:
        """Count the gather indices of rows of diff_dst, and of the weights for each tap."""
        first, second, *kernel = op.weights_shape
        taps, nodes = math.prod(kernel), 20 + 6 * kernel[0]
        if isinstance(op, ConvTransposeBackwardDataOp):
            return CompileTimeCost(taps * second + _window_rows(op), nodes, taps)
        return CompileTimeCost(taps * first + _window_rows(op), nodes, taps) + phases_cost(
            op, CompileTimeCost(nodes=nodes)
        )

    def refuses(self, op: GradConv, target: Target) -> str | None:
        if op.layout != "NXC":
            return "only channels-last data has contiguous channels"
        if op.groups > 1:
            return f"groups {op.value('groups')}: the channels of a position are in several products"
        if op.weights_shape[2] == 1:
            return "the kernel has one tap on the first axis: conv-nxc-to-matmul gathers as little"
        if reason := no_sums(op) or no_kernel(target, op.diff_dst, *NEEDED):
            return reason
        if not shapes.is_static((*op.spatial(op.diff_dst), *op.spatial(op.diff_src))):
            return "windows need static spatial sizes"
        if reason := too_many_phases(op, target) if isinstance(op, ConvBackwardDataOp) else None:
            return reason
        return None if all(_row_taps(op)) else "taps of the first axis read nothing but padding"

    def spreads_nonfinite(self, op: GradConv, target: Target) -> str | None:
        return "windows have zeros that are multiplied by the weights" if op.spatial_rank > 1 else None

    def works(self, op: GradConv, target: Target, work: Work) -> None:
        data, result = data_sizes(op)
        if isinstance(op, ConvBackwardDataOp):
            _backward_works(op, work, data, result[-1])
        else:
            _forward_works(op, work, data, result)

    def emit(self, op: GradConv, target: Target, emit: OpBuilder) -> SSAValue:
        return _forward(op, emit) if isinstance(op, ConvTransposeBackwardDataOp) else _backward(op, emit)


def _backward_works(op: ConvBackwardDataOp, work: Work, data: Sizes, channels: int) -> None:
    rows, *inner = op_phases(op)
    begin, end = zip(*(axis.widest for axis in inner), strict=True) if inner else ((), ())
    found = Windows(work, work.pad(data, 2, begin, end), 2)
    counts = tuple(axis.positions for axis in inner)
    for others in itertools.product(*([phase for phase in axis.phases if phase] for axis in inner)):
        taps = [phase_taps(phase, b) for phase, b in zip(others, begin, strict=True)]
        windows = found.gathered(taps, counts, [1] * len(inner))
        for phase in filter(None, rows.phases):
            shifts = [row.offset for row in _phase_taps(rows, phase)]
            _sum_works(work, windows, channels, shifts, rows.positions)
    if any(len(axis.phases) > 1 for axis in (rows, *inner)):
        count_interleave_last(work, [rows, *inner], data[0], channels)


def _forward_works(op: ConvTransposeBackwardDataOp, work: Work, data: Sizes, result: Sizes) -> None:
    begin, end = zip((0, 0), *(axis.pads for axis in op.axes[1:]), strict=True)
    data = work.pad(data, 1, begin, end)
    taps = [forward_taps(axis) for axis in op.axes[1:]]
    stride, *steps = op.strides
    found = _forward_taps(op)
    for first in sorted({row.first for row in found}):
        rows = (data[0], _count(data[1], first, stride), *data[2:])
        rows = data if rows == data else work.cut(data, rows, stride)
        windows = Windows(work, rows, 2).gathered(taps, result[2:-1], steps)
        _sum_works(work, windows, result[-1], [r.offset for r in found if r.first == first], result[1], False)
    for _ in found[1:]:
        work.run("Add", result, result, result)


def _sum_works(
    work: Work, windows: Sizes, channels: int, shifts: Sequence[int], results: int, is_whole: bool = True
) -> None:
    """Add a shifted product per tap of the first axis; `is_whole` if these are all terms of the sum."""
    for offset in shifts:
        product = work.multiply(windows, work.weights((windows[-1], channels)))
        shifted = work.pad(product, 1, [-offset], [results + offset - product[1]])
        if is_whole and offset != shifts[0]:
            work.run("Add", shifted, shifted, shifted)


def _window_rows(op: GradConv) -> int:
    """Return the number of rows of the windows of one row of diff_dst."""
    strides = op.strides if isinstance(op, ConvBackwardDataOp) else [1] * op.spatial_rank
    sizes = list(zip(op.spatial(op.diff_src), strides, strict=True))[1:]
    return math.prod(op.weights_shape[3:]) * math.prod(-(-x // s) for x, s in sizes if isinstance(x, int))


def _row_taps(op: GradConv) -> list[list[RowTap]]:
    """Return the taps of the first axis; for a gradient, those of each nonempty phase."""
    if isinstance(op, ConvTransposeBackwardDataOp):
        return [_forward_taps(op)]
    rows = op_phases(op)[0]
    return [_phase_taps(rows, phase) for phase in rows.phases if phase]


def _phase_taps(rows: AxisPhases, phase: Phase) -> list[RowTap]:
    found = [RowTap(tap, 0, offset) for tap, offset in phase_taps(phase, 0)]
    return [tap for tap in found if _reads_any(tap.offset, rows.y, rows.positions)]


def _forward_taps(op: ConvTransposeBackwardDataOp) -> list[RowTap]:
    y, x = op.spatial(op.diff_dst)[0], op.spatial(op.diff_src)[0]
    assert isinstance(y, int)
    assert isinstance(x, int)
    axis, stride = op.axes[0], op.strides[0]
    places = [(tap, *divmod(first - axis.pad_begin, stride)) for tap, first in forward_taps(axis)]
    return [
        RowTap(tap, first, offset)
        for tap, offset, first in places
        if _reads_any(offset, _count(y, first, stride), x)
    ]


def _count(size: int, first: int, step: int) -> int:
    """Return the number of every `step`-th of `size` rows from `first` on."""
    return max(0, -(-(size - first) // step))


def _reads_any(offset: int, rows: int, results: int) -> bool:
    return max(0, -offset) < min(results, rows - offset)


def _backward(op: ConvBackwardDataOp, emit: OpBuilder) -> SSAValue:
    rows, *inner = op_phases(op)
    begin, end = zip(*(axis.widest for axis in inner), strict=True) if inner else ((), ())
    data = pad_spatial(emit, op.diff_dst, 2, begin, end)
    weights = TapRows.of_backward(emit, op.weights)

    @cache
    def windows(chosen: tuple[Phase, ...]) -> SSAValue:
        taps = [phase_taps(phase, b) for phase, b in zip(chosen, begin, strict=True)]
        return gather_taps(emit, data, 2, taps, [axis.positions for axis in inner], [1] * len(inner))

    def part(chosen: tuple[Phase, ...]) -> SSAValue:
        first, *others = chosen
        taps = tap_numbers([phase_taps(phase, 0) for phase in others])
        parts = (
            _shift_rows(
                emit,
                multiply_right(emit, windows(tuple(others)), weights.matrix(emit, [[row.tap], *taps])),
                row.offset,
                rows.positions,
            )
            for row in _phase_taps(rows, first)
        )
        return sum_values(emit, parts)

    axes = [rows, *inner]
    if any(len(axis.phases) > 1 for axis in axes):
        return interleave_channels_last(emit, axes, part)
    return part(tuple(phase for axis in axes for phase in axis.phases if phase))


def _forward(op: ConvTransposeBackwardDataOp, emit: OpBuilder) -> SSAValue:
    begin, end = zip((0, 0), *(axis.pads for axis in op.axes[1:]), strict=True)
    data = pad_spatial(emit, op.diff_dst, 1, begin, end)
    weights = TapRows.of_forward(emit, op.weights)
    taps = [forward_taps(axis) for axis in op.axes[1:]]
    results, *counts = (x for x in op.spatial(op.diff_src) if isinstance(x, int))
    stride, *steps = op.strides

    @cache
    def windows(first: int) -> SSAValue:
        y = shape_of(data)[1]
        assert isinstance(y, int)
        rows = strided_rows(emit, data, first, stride, _count(y, first, stride))
        return gather_taps(emit, rows, 2, taps, counts, steps)

    parts = (
        _shift_rows(
            emit,
            multiply_right(emit, windows(row.first), weights.matrix(emit, [[row.tap], *tap_numbers(taps)])),
            row.offset,
            results,
        )
        for row in _forward_taps(op)
    )
    return sum_values(emit, parts)


def _shift_rows(emit: OpBuilder, value: SSAValue, offset: int, results: int) -> SSAValue:
    """Take `results` rows of axis 1 from `offset` on, zeros outside."""
    rows = shape_of(value)[1]
    assert isinstance(rows, int)
    return pad_spatial(emit, value, 1, [-offset], [results + offset - rows])
