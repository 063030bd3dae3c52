"""Cancellation of shape changes across Casts."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from dialects.onnx import ops
from dialects.onnx.base import OnnxOp
from dialects.onnx.identities import infers_shape, perm_of
from dialects.support import shapes

_SHAPERS = (ops.ReshapeOp, ops.SqueezeOp, ops.UnsqueezeOp)


class CancelMoveAcrossCasts(RewritePattern):
    """Drop a move and its inverse around Casts.

    A Cast with other uses is duplicated, which costs less than a move.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, OnnxOp)
        casts: list[ops.CastOp] = []
        inner = op.operands[0].owner
        while isinstance(inner, ops.CastOp):
            casts.append(inner)
            inner = inner.input.owner
        if not casts or not isinstance(inner, (*_SHAPERS, ops.TransposeOp)) or not _undoes(op, inner):
            return
        value: SSAValue = inner.operands[0]
        new: list[Operation] = []
        for cast in reversed(casts):
            result = shapes.tensor_type(shapes.element_type_of(cast.output), shapes.shape_of(value))
            new.append(ops.CastOp.create(operands=[value], result_types=[result], properties=cast.properties))
            value = new[-1].results[0]
        rewriter.replace(op, new)


def _undoes(op: OnnxOp, inner: OnnxOp) -> bool:
    """Return whether `op`, applied directly after `inner`, restores inner's operand."""
    before = shapes.shape_of(inner.operands[0])
    if shapes.shape_of(op.results[0]) != before:
        return False
    if isinstance(op, ops.TransposeOp):
        if not isinstance(inner, ops.TransposeOp):
            return False
        first = perm_of(inner.call())
        return [first[axis] for axis in perm_of(op.call())] == list(range(len(before)))
    return isinstance(op, _SHAPERS) and isinstance(inner, _SHAPERS) and infers_shape(op.call(), before)
