"""Pads of some axes as Pads of all: see the quirk pad-with-axes-behind-a-transpose."""

from __future__ import annotations

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from dialects.onnx import ops as onnx
from dialects.onnx.call import axes_of
from dialects.onnx.dims import ints
from dialects.onnx.values import constant_of
from dialects.support.shapes import shape_of
from passes.builder.op_builder import OpBuilder
from passes.builder.rewriting import replace


class PadOfAllAxes(RewritePattern):
    """Replace a Pad of constant axes by one of all axes."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.PadOp, rewriter: PatternRewriter, /) -> None:
        if op.axes is None:
            return
        emit = OpBuilder()
        value = pad_all_axes(emit, op)
        if value is not None:
            replace(op, rewriter, emit, [value])


def pad_all_axes(emit: OpBuilder, op: onnx.PadOp) -> SSAValue | None:
    """Return a Pad without the operand `axes`, or None if they are dynamic. Raises UnknownRank."""
    call = op.call()
    given = call.optional(3)
    listed = None if given is None else ints(given.dims)
    if listed is None:
        return None
    rank, count = len(shape_of(op.data)), len(listed)
    axes = axes_of(listed, rank)
    indices = [axes.index(axis) if axis in axes else 2 * count for axis in range(rank)]
    indices += [index + count if index < count else index for index in indices]
    known = constant_of(op.pads)
    if known is None:
        pads = emit.take(emit.concat([emit.as_int64(op.pads), emit.ints([0])]), indices)
    else:
        pads = emit.ints([[*known.tolist(), 0][index] for index in indices])
    return emit(onnx.PadOp(op.data, pads, op.constant_value, mode=call.attribute("mode", "constant")))
