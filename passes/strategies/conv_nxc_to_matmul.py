"""conv-nxc-to-matmul: channels last, a convolution gradient is MatMul on slices, without a Transpose.

1. Kernel 1 and stride 1: diff_dst (N, Y.., O) times weights (O, C).
2. Otherwise what each tap reads is a window of diff_dst, padded; the windows of one phase (see
   `support.phases`; a stride of 1 has one) lie side by side on the channels: (N, Q.., T O) times (T O, C).
   The phases are interleaved in runs of whole channels.
3. ConvTransposeBackwardData, a forward convolution: one such product, its windows taken with the stride.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.ir import SSAValue

from dialects.grad.conv import ConvBackwardDataOp, ConvTransposeBackwardDataOp
from dialects.onnx import ops as onnx
from dialects.support import shapes
from dialects.support.shapes import shape_of
from passes.strategies.base import Strategy, no_kernel
from passes.support.budget import Built
from passes.support.convolution import GradConv
from passes.support.phases import AxisPhases, Phase, interleave_channels_last, op_phases, phases_built
from passes.support.rewriting import Emitter
from passes.support.tensors import multiply_right, reshape
from passes.target import Target

NEEDED = (onnx.MatMulOp, onnx.SliceOp, onnx.ConcatOp, onnx.PadOp, onnx.GatherOp)


class ConvNxcToMatMul(Strategy):
    """MatMul on windows of channels-last data."""

    name: ClassVar[str] = "conv-nxc-to-matmul"
    ops: ClassVar = (ConvBackwardDataOp, ConvTransposeBackwardDataOp)
    layouts: ClassVar = ("NXC",)

    def builds(self, op: GradConv) -> Built:
        """A slice for every tap, whatever phase it is in."""
        slices = Built(nodes=math.prod(op.weights_shape[2:]), spread=math.prod(op.weights_shape[2:]))
        return slices + (phases_built(op, Built()) if isinstance(op, ConvBackwardDataOp) else Built())

    def refuses(self, op: GradConv, target: Target) -> str | None:
        if op.value("layout") != "NXC":
            return "only channels-last data has all channels of a position side by side"
        if op.value("groups") > 1:
            return f"groups {op.value('groups')}: the channels of a position are in several products"
        if reason := no_kernel(target, op.diff_dst, *NEEDED):
            return reason
        if is_product(op):
            return None
        if not shapes.is_static((*op.spatial(op.diff_dst), *op.spatial(op.diff_src))):
            return "windows need spatial sizes known at compile time"
        return None

    def mixes(self, op: GradConv, target: Target) -> str | None:
        return None if is_product(op) else "windows have zeros that are multiplied by the weights"

    def emit(self, op: GradConv, target: Target, emit: Emitter) -> SSAValue:
        if isinstance(op, ConvTransposeBackwardDataOp):
            return _forward(op, emit)
        if is_product(op):
            return multiply_right(emit, op.diff_dst, _matrix(emit, op.weights, ()))
        axes = op_phases(op)
        begin, end = zip(*(axis.widest for axis in axes), strict=True)
        data = _padded(emit, op.diff_dst, begin, end)

        def part(chosen: tuple[Phase, ...]) -> SSAValue:
            starts = [
                [b + phase.first + i * phase.step for i in range(len(phase.taps))]
                for b, phase in zip(begin, chosen, strict=True)
            ]
            windows = _windows(emit, data, starts, [axis.positions for axis in axes], [1] * len(axes))
            return multiply_right(emit, windows, _matrix(emit, op.weights, [phase.taps for phase in chosen]))

        return interleave_channels_last(emit, axes, part) if strided(op) else part(_only(axes))


def strided(op: ConvBackwardDataOp) -> bool:
    return any(s > 1 for s in op.value("strides"))


def _only(axes: Sequence[AxisPhases]) -> tuple[Phase, ...]:
    """The phases of an op without a stride: one per axis."""
    return tuple(phase for axis in axes for phase in axis.phases if phase)


def is_product(op: GradConv) -> bool:
    """Whether every result position is the product of one position of diff_dst with the weights."""
    if any(k != 1 or axis.pads != (0, 0) for k, axis in zip(op.weights_shape[2:], op.axes, strict=True)):
        return False
    residue = op.value("residue") if isinstance(op, ConvBackwardDataOp) else ()
    return not any(residue) and all(s == 1 for s in op.value("strides"))


def _forward(op: ConvTransposeBackwardDataOp, emit: Emitter) -> SSAValue:
    """weights (C, O, K...) as (K O, C); tap k of position x reads x s - pb + k d."""
    channels, out, *kernel = op.weights_shape
    n = op.spatial_rank
    matrix = emit(onnx.TransposeOp(op.weights, perm=[*range(2, n + 2), 1, 0]))
    matrix = reshape(emit, matrix, [int(np.prod(kernel)) * out, channels])
    if is_product(op):
        return multiply_right(emit, op.diff_dst, matrix)
    begin = [axis.pad_begin for axis in op.axes]
    data = _padded(emit, op.diff_dst, begin, [axis.pad_end for axis in op.axes])
    starts = [[k * axis.window.dilation for k in range(axis.window.kernel)] for axis in op.axes]
    counts = [x for x in op.spatial(op.diff_src) if isinstance(x, int)]
    return multiply_right(emit, _windows(emit, data, starts, counts, op.value("strides")), matrix)


def _matrix(emit: Emitter, weights: SSAValue, taps: Sequence[Sequence[int]]) -> SSAValue:
    """Weights (O, C, K...) of some taps as (T O, C)."""
    out, channels, *kernel = (k for k in shape_of(weights) if isinstance(k, int))
    for axis, chosen in enumerate(taps, 2):
        if list(chosen) != list(range(kernel[axis - 2])):
            weights = emit(onnx.GatherOp(weights, emit.constant(np.array(chosen, np.int64)), axis=axis))
    count = int(np.prod([len(chosen) for chosen in taps]))
    last = len(kernel) + 2
    matrix = emit(onnx.TransposeOp(weights, perm=[*range(2, last), 0, 1]))
    return reshape(emit, matrix, [count * out, channels])


def _padded(emit: Emitter, data: SSAValue, begin: Sequence[int], end: Sequence[int]) -> SSAValue:
    if not any((*begin, *end)):
        return data
    return emit(onnx.PadOp(data, emit.ints([0, *begin, 0, 0, *end, 0])))


def _windows(
    emit: Emitter,
    data: SSAValue,
    starts: Sequence[Sequence[int]],
    counts: Sequence[int],
    steps: Sequence[int],
) -> SSAValue:
    """(N, counts.., T O): for every choice of one start per axis, the window from there, on the channels."""
    axes = range(1, len(counts) + 1)
    sizes = shape_of(data)[1:-1]
    parts = []
    for start in itertools.product(*starts):
        if tuple(counts) == sizes and not any(start):
            parts.append(data)
            continue
        stops = [s + step * (count - 1) + 1 for s, step, count in zip(start, steps, counts, strict=True)]
        bounds = (start, stops, axes, steps)
        parts.append(emit(onnx.SliceOp(data, *(emit.ints(list(bound)) for bound in bounds))))
    return emit(onnx.ConcatOp(parts, axis=len(counts) + 1)) if len(parts) > 1 else parts[0]
