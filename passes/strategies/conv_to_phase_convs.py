"""conv-to-phase-convs: a strided gradient as one small convolution per phase, interleaved.

See `support.phases`. The work is that of the gradient, without a zero, on onnxruntime's quick Conv; what
it costs is writing diff_src again for every axis. In NXC the phases are interleaved in runs of whole
channels, all axes at once, and the Transposes around a Conv come with its own reordering.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.ir import SSAValue

from dialects.grad.conv import ConvBackwardDataOp
from dialects.grad.geometry import axis_letters
from dialects.onnx import ops as onnx
from dialects.support import shapes
from passes.strategies.base import Strategy, no_kernel
from passes.support.budget import Built
from passes.support.convolution import (
    CONV_MIXES,
    Convolution,
    convolve,
    convolve_planes,
    convolve_planes_last,
)
from passes.support.phases import (
    AxisPhases,
    Phase,
    interleave_channels_first,
    interleave_channels_last,
    op_phases,
    phases_built,
)
from passes.support.rewriting import Emitter
from passes.support.tensors import swap_channels
from passes.target import Target


class ConvToPhaseConvs(Strategy):
    """A Conv per phase of the stride, interleaved by Concat."""

    name: ClassVar[str] = "conv-to-phase-convs"
    ops: ClassVar = (ConvBackwardDataOp,)
    layouts: ClassVar = ("NCX", "NXC")

    def builds(self, op: ConvBackwardDataOp) -> Built:
        return phases_built(op, 1)

    def refuses(self, op: ConvBackwardDataOp, target: Target) -> str | None:
        needed = (onnx.ConvOp, onnx.ConcatOp, onnx.PadOp, onnx.SliceOp, onnx.TransposeOp, onnx.GatherOp)
        if reason := no_kernel(target, op.diff_dst, *needed):
            return reason
        if reason := no_phases(op):
            return reason
        if op.value("layout") == "NXC" and op.spatial_rank == 3 and op.value("groups") > 1:
            return f"groups {op.value('groups')}: unrolled channels would lie in the wrong group"
        for letter, axis in zip(axis_letters(op.spatial_rank), op_phases(op), strict=True):
            pads = [axis.pads(phase) for phase in axis.phases if phase]
            if min(map(min, pads)) < 0:
                return f"a phase of axis {letter} leaves out the edge of diff_dst: negative pads"
            if op.value("layout") == "NCX" and axis.has_gap:
                return f"no tap reaches some phases of axis {letter} between others"
        return None

    def mixes(self, op: ConvBackwardDataOp, target: Target) -> str | None:
        return CONV_MIXES

    def emit(self, op: ConvBackwardDataOp, target: Target, emit: Emitter) -> SSAValue:
        n, layout, groups = op.spatial_rank, op.value("layout"), op.value("groups")
        axes = op_phases(op)
        weights = swap_channels(emit, op.weights, groups)

        def part_by(write):
            return lambda chosen: write(
                emit, op.diff_dst, _taps(emit, weights, chosen), _geometry(axes, chosen, groups)
            )

        in_planes = groups == 1 or n < 3
        if layout == "NCX":
            return interleave_channels_first(emit, axes, part_by(convolve_planes if in_planes else convolve))
        return interleave_channels_last(emit, axes, part_by(convolve_planes_last))


def no_phases(op: ConvBackwardDataOp) -> str | None:
    """Why the op has no phases to speak of, None if it has."""
    if all(s == 1 for s in op.value("strides")):
        return "no axis has a stride"
    if not shapes.is_static((*op.spatial(op.diff_dst), *op.spatial(op.diff_src))):
        return "spatial sizes must be known at compile time"
    return None


def _taps(emit: Emitter, weights: SSAValue, chosen: Sequence[Phase]) -> SSAValue:
    kernel = shapes.shape_of(weights)[2:]
    for axis, phase in enumerate(chosen, 2):
        if len(phase.taps) != kernel[axis - 2] or list(phase.taps) != sorted(phase.taps):
            weights = emit(onnx.GatherOp(weights, emit.constant(np.array(phase.taps, np.int64)), axis=axis))
    return weights


def _geometry(axes: Sequence[AxisPhases], chosen: Sequence[Phase], groups: int) -> Convolution:
    pads = [axis.pads(phase) for axis, phase in zip(axes, chosen, strict=True)]
    steps = tuple(phase.step for phase in chosen)
    begin, end = zip(*pads, strict=True)
    return Convolution((1,) * len(axes), steps, begin, end, groups)
