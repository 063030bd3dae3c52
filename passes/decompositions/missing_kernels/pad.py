"""Pad as slices and concatenations."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.call import axes_of
from dialects.onnx.dims import ints
from dialects.support.shapes import Dim, shape_of
from passes.autodiff.common.primal import Primal
from passes.builder.op_builder import OpBuilder
from passes.builder.values import Builder
from passes.decompositions.missing_kernels.pointwise import scalar
from passes.decompositions.registry import Results


@dataclass(frozen=True)
class AxisPad:
    """Padding at one end of an axis: static, or entry `entry` of the pads."""

    axis: int
    known: Dim
    entry: int


def pad(f: Primal, e: Builder) -> Results | None:
    """Crop by negative pads, then concatenate constants, axis by axis."""
    op, emit = f.op_as(onnx.PadOp), e.emit
    call = op.call()
    rank, pads = call.operand(0).rank, call.operand(1).dims
    given = call.optional(3)
    axes = list(range(rank)) if given is None else ints(given.dims)
    if call.attribute("mode", "constant") != "constant" or pads is None or axes is None:
        return None
    begins, ends = pads[: len(axes)], pads[len(axes) :]
    rows = list(zip(axes_of(axes, rank), begins, ends, range(len(axes)), strict=True))
    sides = [(AxisPad(axis, begin, i), AxisPad(axis, end, len(axes) + i)) for axis, begin, end, i in rows]
    value: SSAValue = op.data
    fill = op.constant_value or scalar(emit, 0, value)
    for begin, end in sides:
        value = _cut(emit, value, op.pads, begin, end)
        parts = [
            _emit_padding(emit, value, op.pads, begin, fill),
            value,
            _emit_padding(emit, value, op.pads, end, fill),
        ]
        kept = [part for part in parts if part is not None]
        value = emit(onnx.ConcatOp(kept, axis=begin.axis)) if len(kept) > 1 else value
    return [value]


def _cut(emit: OpBuilder, value: SSAValue, pads: SSAValue, begin: AxisPad, end: AxisPad) -> SSAValue:
    """Crop an axis by negative pads; no Slice if none can be negative."""
    if not any(_may_be_negative(pad.known) for pad in (begin, end)):
        return value
    start = emit.sub(emit.ints([0]), emit.min(emit.take(pads, [begin.entry]), 0))
    size = emit.sizes(value, [begin.axis])
    stop = emit.add(size, emit.min(emit.take(pads, [end.entry]), 0))
    return emit(onnx.SliceOp(value, start, stop, emit.ints([begin.axis])))


def _may_be_negative(known: Dim) -> bool:
    return not isinstance(known, int) or known < 0


def _emit_padding(
    emit: OpBuilder, value: SSAValue, pads: SSAValue, pad: AxisPad, fill: SSAValue
) -> SSAValue | None:
    """Return the padding at one end of an axis; None if it is empty."""
    if isinstance(pad.known, int) and pad.known <= 0:
        return None
    sizes = [emit.sizes(value, [axis]) for axis in range(len(shape_of(value)))]
    sizes[pad.axis] = emit.max(emit.take(pads, [pad.entry]), 0)
    return emit(onnx.ExpandOp(fill, emit.concat(sizes)))
