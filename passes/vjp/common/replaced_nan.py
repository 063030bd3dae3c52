"""Functions that are NaN beyond their domain, where what reads them replaces NaN: there the cotangent is 0,
and so is the gradient, where 0 times NaN is not. scikit-learn's PowerTransformer has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import Operation, SSAValue

from dialects.onnx import ops as onnx
from passes.emit.expressions import Expr, Operators
from passes.vjp.common.forward import Forward, Gradient, Rule

DEEPEST = 8
"""How many ops stand between a function and what replaces its NaN."""


def beside_nan(rule: Rule, inside: float) -> Rule:
    """The rule, of a number `inside` the domain where the result is NaN and that is replaced."""

    def guarded(f: Forward, g: Sequence[Expr], e: Operators) -> Sequence[Gradient]:
        if not f.has_operand or not f.has_result or not _is_replaced(f.y.value, DEEPEST):
            return rule(f, g, e)
        is_nan = f.y.apply(onnx.IsNaNOp)
        x, y = (is_nan.where(e.filled(inside, value), value) for value in (f.x, f.y))
        return rule(replace(f, operands=[x, *f.operands[1:]], results=[y]), g, e)

    return guarded


def _is_replaced(value: SSAValue, left: int) -> bool:
    """Whether all of the function that reads the value replaces NaN, or is NaN itself and is replaced."""
    readers = [use.operation for use in value.uses if use.operation.parent is not None]
    return bool(readers) and left > 0 and all(_replaces(reader, value, left) for reader in readers)


def _replaces(op: Operation, value: SSAValue, left: int) -> bool:
    """What compares, or reads the shape, passes no gradient on."""
    match op:
        case onnx.IsNaNOp() | onnx.IsInfOp() | onnx.EqualOp() | onnx.GreaterOp() | onnx.LessOp():
            return True
        case onnx.ShapeOp():
            return True
        case onnx.WhereOp() if _is_nan_of(op.operands[0], value) and op.operands[1] is not value:
            return True
        case onnx.AddOp() | onnx.SubOp() | onnx.MulOp() | onnx.DivOp() | onnx.NegOp() | onnx.WhereOp():
            return _is_replaced(op.results[0], left - 1)
        case onnx.CastOp() | onnx.IdentityOp():
            return _is_replaced(op.results[0], left - 1)
        case _:
            return False


def _is_nan_of(condition: SSAValue, value: SSAValue) -> bool:
    return isinstance(condition.owner, onnx.IsNaNOp) and condition.owner.operands[0] is value
