"""What the taps of a convolution read of diff_dst, which is padded first."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from dialects.grad.geometry import ConvAxis
from dialects.onnx import ops as onnx
from dialects.support.shapes import shape_of
from passes.support.phases import Phase
from passes.support.rewriting import Emitter

Taps = Sequence[tuple[int, int]]
"""Of one axis: taps, in ascending order, each with the padded position that it reads for position 0."""


def phase_taps(phase: Phase, pad: int) -> Taps:
    return sorted((tap, pad + phase.first + i * phase.step) for i, tap in enumerate(phase.taps))


def forward_taps(axis: ConvAxis) -> Taps:
    """Tap k of position x reads x s - pb + k d."""
    return [(k, k * axis.window.dilation) for k in range(axis.window.kernel)]


def padded(emit: Emitter, data: SSAValue, axis: int, begin: Sequence[int], end: Sequence[int]) -> SSAValue:
    """Zeros before and after the spatial axes, of which `axis` is the first."""
    if not any((*begin, *end)):
        return data
    rest = [0] * (len(shape_of(data)) - axis - len(begin))
    return emit(onnx.PadOp(data, emit.ints([*[0] * axis, *begin, *rest, *[0] * axis, *end, *rest])))
