"""conv-nxc-to-matmul: a channels-last convolution gradient as MatMul on windows, without a Transpose.

1. Kernel 1 and stride 1: diff_dst (N, Y.., O) times weights (O, C).
2. Otherwise the reads of all taps of a position, rows of O channels of padded diff_dst, are gathered and
   concatenated per phase (see `conv.phases`; stride 1 has one): (N, Q.., T O) times (T O, C). The phases are
   interleaved in runs of whole channels.
3. ConvTransposeBackwardData, a forward convolution: one such product, with strided windows.

Taps are in the order of the weights: nothing is flipped.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.conv import ConvBackwardDataOp, ConvTransposeBackwardDataOp
from dialects.onnx import ops as onnx
from dialects.support import shapes
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import multiply_right, reshape
from passes.conv.convolution import GradConv
from passes.conv.phases import AxisPhases, Phase, interleave_channels_last, op_phases, phases_cost
from passes.conv.weights import TapRows
from passes.conv.windows import forward_taps, gather_taps, pad_spatial, phase_taps, tap_numbers
from passes.conv.work import Windows, count_interleave_last, data_sizes
from passes.cost.work import Sizes, Work
from passes.strategies.base import Strategy, no_kernel
from passes.strategies.conv.conv_to_phase_convs import too_many_phases
from passes.targets.target import Target

NEEDED = (onnx.MatMulOp, onnx.ConcatOp, onnx.PadOp, onnx.GatherOp)

MOST_WINDOW_ROWS = 2**19
"""Limit on the rows of windows: beyond, the indices alone are a constant of 4 MB, and other strategies are
faster."""


class ConvNxcToMatMul(Strategy):
    """MatMul on windows of channels-last data."""

    name: ClassVar[str] = "conv-nxc-to-matmul"
    ops: ClassVar = (ConvBackwardDataOp, ConvTransposeBackwardDataOp)
    layouts: ClassVar = ("NXC",)

    def compile_time_cost(self, op: GradConv) -> CompileTimeCost:
        """Count the gather indices of rows of diff_dst, and of the weights for each tap."""
        if is_product(op):
            return CompileTimeCost()
        first, second, *kernel = op.weights_shape
        taps = math.prod(kernel)
        if isinstance(op, ConvTransposeBackwardDataOp):
            return CompileTimeCost(taps * second + _window_rows(op), 20, taps)
        return CompileTimeCost(taps * first + _window_rows(op), 20, taps) + phases_cost(
            op, CompileTimeCost(nodes=8)
        )

    def refuses(self, op: GradConv, target: Target) -> str | None:
        if op.layout != "NXC":
            return "only channels-last data has contiguous channels"
        if op.groups > 1:
            return f"groups {op.value('groups')}: the channels of a position are in several products"
        if reason := no_kernel(target, op.diff_dst, *NEEDED):
            return reason
        if is_product(op):
            return None
        if not shapes.is_static((*op.spatial(op.diff_dst), *op.spatial(op.diff_src))):
            return "windows need static spatial sizes"
        if _window_rows(op) > MOST_WINDOW_ROWS:
            return f"windows of {_window_rows(op):,} rows, more than {MOST_WINDOW_ROWS:,}"
        return too_many_phases(op, target) if isinstance(op, ConvBackwardDataOp) else None

    def spreads_nonfinite(self, op: GradConv, target: Target) -> str | None:
        return None if is_product(op) else "windows have zeros that are multiplied by the weights"

    def works(self, op: GradConv, target: Target, work: Work) -> None:
        data, result = data_sizes(op)
        first, second, *_ = op.weights_shape
        if is_product(op):
            depth = first if isinstance(op, ConvBackwardDataOp) else second
            work.multiply(data, work.weights((depth, result[-1])))
        elif isinstance(op, ConvBackwardDataOp):
            _backward_works(op, work, data, result[-1])
        else:
            begin, end = zip(*(axis.pads for axis in op.axes), strict=True)
            taps = [forward_taps(axis) for axis in op.axes]
            padded = work.pad(data, 1, begin, end)
            windows = Windows(work, padded, 1).gathered(taps, result[1:-1], op.strides)
            work.multiply(windows, work.weights((windows[-1], result[-1])))

    def emit(self, op: GradConv, target: Target, emit: OpBuilder) -> SSAValue:
        if isinstance(op, ConvTransposeBackwardDataOp):
            return _forward(op, emit)
        if is_product(op):
            return multiply_right(emit, op.diff_dst, reshape(emit, op.weights, list(op.weights_shape[:2])))
        axes = op_phases(op)
        begin, end = zip(*(axis.widest for axis in axes), strict=True)
        data = pad_spatial(emit, op.diff_dst, 1, begin, end)
        weights = TapRows.of_backward(emit, op.weights)

        def part(chosen: tuple[Phase, ...]) -> SSAValue:
            taps = [phase_taps(phase, b) for phase, b in zip(chosen, begin, strict=True)]
            windows = gather_taps(emit, data, 1, taps, [axis.positions for axis in axes], [1] * len(axes))
            return multiply_right(emit, windows, weights.matrix(emit, tap_numbers(taps)))

        return interleave_channels_last(emit, axes, part) if has_stride(op) else part(_only(axes))


def _backward_works(op: ConvBackwardDataOp, work: Work, data: Sizes, channels: int) -> None:
    axes = op_phases(op)
    begin, end = zip(*(axis.widest for axis in axes), strict=True)
    found = Windows(work, work.pad(data, 1, begin, end), 1)
    counts = tuple(axis.positions for axis in axes)
    for chosen in itertools.product(*([phase for phase in axis.phases if phase] for axis in axes)):
        taps = [phase_taps(phase, b) for phase, b in zip(chosen, begin, strict=True)]
        windows = found.gathered(taps, counts, [1] * len(axes))
        work.multiply(windows, work.weights((windows[-1], channels)))
    if has_stride(op):
        count_interleave_last(work, axes, data[0], channels)


def _window_rows(op: GradConv) -> int:
    """Return the number of rows of all windows: one for each tap of each position of its phase."""
    strides = op.strides if isinstance(op, ConvBackwardDataOp) else [1] * op.spatial_rank
    sizes = zip(op.spatial(op.diff_src), strides, strict=True)
    return math.prod(op.weights_shape[2:]) * math.prod(-(-x // s) for x, s in sizes if isinstance(x, int))


def has_stride(op: ConvBackwardDataOp) -> bool:
    return any(s > 1 for s in op.strides)


def _only(axes: Sequence[AxisPhases]) -> tuple[Phase, ...]:
    """Return the only phases of an op without strides."""
    return tuple(phase for axis in axes for phase in axis.phases if phase)


def is_product(op: GradConv) -> bool:
    """Return whether every result position is the product of one position of diff_dst with the weights."""
    if any(k != 1 or axis.pads != (0, 0) for k, axis in zip(op.weights_shape[2:], op.axes, strict=True)):
        return False
    residue = op.residue if isinstance(op, ConvBackwardDataOp) else ()
    return not any(residue) and all(s == 1 for s in op.strides)


def _forward(op: ConvTransposeBackwardDataOp, emit: OpBuilder) -> SSAValue:
    weights = TapRows.of_forward(emit, op.weights)
    if is_product(op):
        return multiply_right(emit, op.diff_dst, weights.value)
    begin, end = zip(*(axis.pads for axis in op.axes), strict=True)
    data = pad_spatial(emit, op.diff_dst, 1, begin, end)
    taps = [forward_taps(axis) for axis in op.axes]
    counts = [x for x in op.spatial(op.diff_src) if isinstance(x, int)]
    windows = gather_taps(emit, data, 1, taps, counts, op.strides)
    return multiply_right(emit, windows, weights.matrix(emit, tap_numbers(taps)))
