"""Even powers of an absolute value as powers of the value itself, equal bit by bit.

These have a second derivative at 0, where Abs has none.
"""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from dialects.onnx import ops
from dialects.onnx.values import constant_of
from passes.simplify.reshapes import replace_typed


class EvenPowerOfAbs(RewritePattern):
    """abs(x) ** 2 is x ** 2."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ops.PowOp, rewriter: PatternRewriter, /) -> None:
        exponent = constant_of(op.Y)
        if isinstance(op.X.owner, ops.AbsOp) and exponent is not None and not (exponent % 2).any():
            replace_typed(op, ops.PowOp(op.X.owner.X, op.Y), rewriter)


class ProductOfAbs(RewritePattern):
    """abs(x) abs(x) is x x, and (c abs(x)) abs(x) is (c x) x."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ops.MulOp, rewriter: PatternRewriter, /) -> None:
        for one, other in (op.operands, op.operands[::-1]):
            if not isinstance(one.owner, ops.AbsOp):
                continue
            x = one.owner.X
            if other is one:
                replace_typed(op, ops.MulOp(x, x), rewriter)
                return
            inner = other.owner
            if isinstance(inner, ops.MulOp) and one in inner.operands:
                factor = inner.B if one is inner.A else inner.A
                scaled = ops.MulOp(x, factor)
                replace_typed(op, ops.MulOp(scaled, x), rewriter, scaled)
                return
