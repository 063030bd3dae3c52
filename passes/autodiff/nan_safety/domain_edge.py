"""Functions that are NaN outside their domain, where readers replace NaN (as in scikit-learn's
PowerTransformer): the cotangent is 0 there, and 0 * NaN must not reach the gradient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import Operation, SSAValue

from dialects.onnx import ops as onnx
from passes.autodiff.common.primal import Gradient, Primal, Rule
from passes.builder.values import Builder, Value

DEEPEST = 8
"""Limit on the ops between a function and the op that replaces its NaN."""


def guard_replaced_nan(rule: Rule, inside: float) -> Rule:
    """Wrap a rule to use the number `inside` the domain where a NaN result is replaced."""

    def guarded(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
        if not f.has_operand or not f.has_result or not _is_replaced(f.y.value, DEEPEST):
            return rule(f, g, e)
        is_nan = f.y.apply(onnx.IsNaNOp)
        x, y = (is_nan.where(e.fill_like(inside, value), value) for value in (f.x, f.y))
        return rule(replace(f, operands=[x, *f.operands[1:]], results=[y]), g, e)

    return guarded


def _is_replaced(value: SSAValue, left: int) -> bool:
    """Return whether every reader replaces NaN, or propagates it to ops that do."""
    readers = [use.operation for use in value.uses if use.operation.parent is not None]
    return bool(readers) and left > 0 and all(_replaces(reader, value, left) for reader in readers)


def _replaces(op: Operation, value: SSAValue, left: int) -> bool:
    """Return whether `op` stops NaN. Comparisons and Shape do: they pass no gradient on."""
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
