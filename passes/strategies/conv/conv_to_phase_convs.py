"""conv-to-phase-convs: a strided gradient as one small convolution per phase, interleaved.

See `conv.phases`. It multiplies no zeros and uses onnxruntime's fast Conv, at the cost of writing diff_src
again for every axis. In NXC the phases are interleaved in runs of whole channels, all axes at once, and the
Transposes around a Conv are fused with its reordering.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.conv import ConvBackwardDataOp
from dialects.grad.geometry import axis_letters
from dialects.onnx import ops as onnx
from dialects.support import shapes
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.conv.blocks import reads_blocks
from passes.conv.convolution import (
    CONV_SPREADS_NONFINITE,
    Convolution,
    convolve,
    convolve_planes,
    convolve_planes_last,
)
from passes.conv.phases import (
    AxisPhases,
    Phase,
    interleave_channels_first,
    interleave_channels_last,
    op_phases,
    phases_cost,
)
from passes.conv.rows import convolve_rows, no_rows, rows_cost
from passes.conv.weights import SwappedWeights
from passes.conv.work import (
    count_interleave_first,
    count_interleave_last,
    images,
    one_convolution,
    reorders,
)
from passes.cost.work import Work
from passes.strategies.base import Strategy, no_kernel
from passes.targets.target import Target

MOST_PARTS = 32
"""Limit on the parts: with more (a patch embedding has 256) compilation takes a quarter of a second, and the
nodes run longer than one ConvTranspose."""


class ConvToPhaseConvs(Strategy):
    """A Conv per phase of the stride, interleaved by Concat."""

    name: ClassVar[str] = "conv-to-phase-convs"
    ops: ClassVar = (ConvBackwardDataOp,)
    layouts: ClassVar = ("NCX", "NXC")

    def compile_time_cost(self, op: ConvBackwardDataOp) -> CompileTimeCost:
        return phases_cost(op, rows_cost(op) if _is_grouped_volume(op) else CompileTimeCost(nodes=6))

    def refuses(self, op: ConvBackwardDataOp, target: Target) -> str | None:
        needed = (onnx.ConvOp, onnx.ConcatOp, onnx.PadOp, onnx.SliceOp, onnx.TransposeOp, onnx.GatherOp)
        if reason := no_kernel(target, op.diff_dst, *needed, onnx.AddOp) or no_phases(op):
            return reason
        if reason := too_many_phases(op, target):
            return reason
        if op.layout == "NXC" and _is_grouped_volume(op) and (reason := no_rows(op)):
            return reason
        for letter, axis in zip(axis_letters(op.spatial_rank), op_phases(op), strict=True):
            pads = [axis.pads(phase) for phase in axis.phases if phase]
            if min(map(min, pads)) < 0:
                return f"a phase of axis {letter} does not read the edge of diff_dst: negative pads"
        return None

    def spreads_nonfinite(self, op: ConvBackwardDataOp, target: Target) -> str | None:
        return CONV_SPREADS_NONFINITE

    def works(self, op: ConvBackwardDataOp, target: Target, work: Work) -> None:
        if op.spatial_rank == 3:
            return
        axes, ((batch, channels, *spatial), _) = op_phases(op), images(op)
        first, second, *_ = op.weights_shape
        groups = op.groups
        result = (batch, groups * second, *(axis.positions for axis in axes))
        convs = Work(work.itemsize, work.known)
        for chosen in itertools.product(*([phase for phase in axis.phases if phase] for axis in axes)):
            weights = (groups * second, first // groups, *(len(phase.taps) for phase in chosen))
            conv = _geometry(axes, chosen, groups)
            one_convolution(convs, (batch, channels, *spatial), result, weights, conv, as_row=True)
        work.steps += convs.steps
        if op.layout == "NXC":
            count_interleave_last(work, axes, batch, groups * second)
            return
        reorders(work, convs.steps)
        count_interleave_first(work, axes, batch, groups * second)

    def emit(self, op: ConvBackwardDataOp, target: Target, emit: OpBuilder) -> SSAValue:
        layout, groups = op.layout, op.groups
        axes = op_phases(op)
        weights = SwappedWeights.of(emit, op.weights, groups)
        write = _writer(op, target)

        def part(chosen: tuple[Phase, ...]) -> SSAValue:
            taps = weights.taps(emit, [phase.taps for phase in chosen])
            return write(emit, op.diff_dst, taps, _geometry(axes, chosen, groups))

        interleave = interleave_channels_first if layout == "NCX" else interleave_channels_last
        return interleave(emit, axes, part)


def _is_grouped_volume(op: ConvBackwardDataOp) -> bool:
    """Return whether unrolling would put the channels of a slice into the wrong group."""
    return op.spatial_rank == 3 and op.groups > 1


def _writer(
    op: ConvBackwardDataOp, target: Target
) -> Callable[[OpBuilder, SSAValue, SSAValue, Convolution], SSAValue]:
    """Return the function that lowers the convolution of a phase."""
    channels_first = op.layout == "NCX"
    if not _is_grouped_volume(op):
        shared = reads_blocks(op, target) and _convolutions(op) > 1
        last = functools.partial(convolve_planes_last, shared=shared)
        return convolve_planes if channels_first else last
    if no_rows(op):
        return convolve
    return functools.partial(convolve_rows, axis=2 if channels_first else 1)


def _convolutions(op: ConvBackwardDataOp) -> int:
    return math.prod(sum(bool(phase) for phase in axis.phases) for axis in op_phases(op))


def no_phases(op: ConvBackwardDataOp) -> str | None:
    """Return why the op has no phases, or None."""
    if all(s == 1 for s in op.strides):
        return "no axis has a stride"
    if not shapes.is_static((*op.spatial(op.diff_dst), *op.spatial(op.diff_src))):
        return "spatial sizes must be static"
    return None


def too_many_phases(op: ConvBackwardDataOp, target: Target) -> str | None:
    """Return why the choices of phases are too many nodes, or None."""
    parts = math.prod(map(min, op.strides, op.weights_shape[2:]))
    if parts <= MOST_PARTS or no_kernel(target, op.diff_dst, onnx.ConvTransposeOp):
        return None
    return f"{parts} phases, more than {MOST_PARTS}: one ConvTranspose is faster"


def _geometry(axes: Sequence[AxisPhases], chosen: Sequence[Phase], groups: int) -> Convolution:
    pads = [axis.pads(phase) for axis, phase in zip(axes, chosen, strict=True)]
    steps = tuple(phase.step for phase in chosen)
    begin, end = zip(*pads, strict=True)
    return Convolution((1,) * len(axes), steps, begin, end, groups)
