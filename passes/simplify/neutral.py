"""Removal of neutral operands: a factor or divisor of 1, a subtrahend of 0."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from dialects.onnx import ops
from dialects.onnx.values import constant_of

NEUTRAL = {"onnx.Div": 1, "onnx.Mul": 1, "onnx.Sub": 0}


class NeutralOperand(RewritePattern):
    """x 1, x / 1 and x - 0 are x, bit by bit; x + 0 is not, for -0.

    The scale of a decomposed normalisation stays: onnxruntime fuses a normalisation only with its scale, and
    untrained networks have scales of 1.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        sides = ((0, 1), (1, 0)) if isinstance(op, ops.MulOp) else ((0, 1),)
        for kept, other in sides:
            value = op.operands[kept]
            if value.type != op.results[0].type or not _is_all(op.operands[other], NEUTRAL[op.name]):
                continue
            if not (isinstance(op, ops.MulOp) and _is_normalized(value)):
                rewriter.replace(op, [], [value])
            return


def _is_all(value: SSAValue, number: int) -> bool:
    found = constant_of(value)
    if found is None or not found.size or found.flat[0] != number:
        return False
    return bool((found == number).all()) and not np.signbit(found.astype(np.float64)).any()


def _is_normalized(value: SSAValue) -> bool:
    """Return whether a value was divided by a square root, or multiplied by the reciprocal of one."""
    owner = value.owner
    if isinstance(owner, ops.CastOp):
        owner = owner.input.owner
    if isinstance(owner, ops.DivOp):
        return isinstance(owner.B.owner, ops.SqrtOp)
    return isinstance(owner, ops.MulOp) and any(_is_inverse_root(operand) for operand in owner.operands)


def _is_inverse_root(value: SSAValue) -> bool:
    owner = value.owner
    inverted = owner.X if isinstance(owner, ops.ReciprocalOp) else None
    if isinstance(owner, ops.DivOp) and constant_of(owner.A) is not None:
        inverted = owner.B
    return inverted is not None and isinstance(inverted.owner, ops.SqrtOp)
