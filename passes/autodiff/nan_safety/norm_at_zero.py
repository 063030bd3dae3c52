"""Roots of sums of squares (norms): standard deviations and distances, as exporters write them.

At 0 the sum has derivative 0 and its root an infinite one; frameworks define the derivative of both as 0.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.values import constant_of
from dialects.support.shapes import has_rank, shape_of
from passes.builder.values import Value

_VIEWS = (
    *(onnx.CastOp, onnx.ExpandOp, onnx.IdentityOp, onnx.ReshapeOp, onnx.SqueezeOp, onnx.TransposeOp),
    onnx.UnsqueezeOp,
)

DEEPEST = 8
"""Limit on the scalings and views between a root and a sum."""


def is_flat_at_zero(value: SSAValue, left: int = DEEPEST) -> bool:
    """Return whether the derivative of `value` is 0 wherever the value is 0."""
    op = value.owner
    if not isinstance(op, Operation) or not left:
        return False
    match op:
        case onnx.ReduceSumSquareOp():
            return True
        case onnx.ReduceSumOp() | onnx.ReduceMeanOp():
            return is_flat_at_zero(op.operands[0], left - 1)
        case onnx.AddOp() | onnx.SumOp() | onnx.MeanOp():
            return all(is_flat_at_zero(operand, left - 1) for operand in op.operands)
        case onnx.PowOp():
            return _is_even_power(op) or _is_power_of_magnitude(op)
        case onnx.MaxOp() if len(op.operands) == 2:
            return any(map(_is_zero, op.operands)) and any(map(_is_product, op.operands))
        case onnx.MulOp() | onnx.DivOp():
            one, other = op.operands
            if isinstance(op, onnx.MulOp) and one is other:
                return True
            flat = [is_flat_at_zero(operand, left - 1) for operand in op.operands]
            if all(flat):
                return isinstance(op, onnx.MulOp)
            if flat[0]:
                return _is_factor(other)
            return flat[1] and isinstance(op, onnx.MulOp) and _is_factor(one)
        case _:
            return isinstance(op, _VIEWS) and is_flat_at_zero(op.operands[0], left - 1)


def or_zero(slope: Value, root: Value) -> Value:
    """Return `slope`, which was computed with `nonzero_or_one`, or 0 where the root is 0."""
    return root.e.keep(slope, root > 0)


def nonzero_or_one(value: Value) -> Value:
    """Replace zeros by 1."""
    return value.equals(0).where(value.e.fill_like(1, value), value)


def _is_even_power(op: onnx.PowOp) -> bool:
    return _is(op.operands[1], 2)


def _is_power_of_magnitude(op: onnx.PowOp) -> bool:
    """|x|^p with p > 1."""
    known = constant_of(op.operands[1])
    is_steeper = known is not None and known.size == 1 and float(known.reshape(())) > 1
    return is_steeper and isinstance(op.operands[0].owner, onnx.AbsOp | onnx.ReluOp)


def _is_product(value: SSAValue) -> bool:
    """Return whether `value` may be |a|^2 - 2ab + |b|^2 as one product (TorchScript's cdist)."""
    while isinstance(value.owner, _VIEWS):
        value = value.owner.operands[0]
    return isinstance(value.owner, onnx.MatMulOp)


def _is_zero(value: SSAValue) -> bool:
    return _is(value, 0)


def _is(value: SSAValue, number: float) -> bool:
    known = constant_of(value)
    return known is not None and known.size == 1 and float(known.reshape(())) == number


def _is_factor(value: SSAValue) -> bool:
    """Return whether `value` is a constant or a single element, assumed nonzero where the root is taken."""
    return constant_of(value) is not None or _is_number(value)


def _is_number(value: SSAValue) -> bool:
    return has_rank(value) and all(dim == 1 for dim in shape_of(value))
