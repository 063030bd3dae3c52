"""VJP of an angle, exported as Atan(y / x), whose factors at x = 0 are 0 and inf."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from dialects.onnx import ops as onnx
from passes.autodiff.common.primal import Gradient, Primal
from passes.builder.values import Builder, Value


def quotient_of_angle(op: Operation) -> onnx.DivOp | onnx.ReciprocalOp | None:
    """Return the quotient in the same block whose Atan `op` is, or None."""
    made = op.operands[0].owner if isinstance(op, onnx.AtanOp) else None
    if not isinstance(made, onnx.DivOp | onnx.ReciprocalOp):
        return None
    return made if made.parent is op.parent else None


def angle(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """Return g x / (x^2 + y^2) and -g y / (x^2 + y^2), for y and x or for x alone; 0 at the origin. Both are
    first divided by max(|x|, |y|), so that no square overflows or rounds to 0."""
    *above, x = [operand for operand in f.operands if operand is not None]
    y = above[0] if above else e.fill_like(1, x)
    size = x.abs().at_least(y.abs())
    size = size.equals(0).where(e.fill_like(1, size), size)
    u, v = x / size, y / size
    length = u.square() + v.square()
    length = length.equals(0).where(e.fill_like(1, length), length)
    part = g[0] / (length * size)
    by_x = -(part * v)
    return (part * u, by_x) if above else (by_x,)
