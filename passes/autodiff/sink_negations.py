"""sink-negations: drop negations that a later sum or constant factor absorbs, with equal results.

The transpose of a difference negates: -a b, summed and added to c, is c minus the sum of a b.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.onnx import ops as onnx
from dialects.onnx.values import constant_of
from dialects.support.interfaces import set_type
from passes.builder.values import Builder

_ODD = (
    onnx.ReduceMeanOp,
    onnx.ReduceSumOp,
    onnx.ReshapeOp,
    onnx.SqueezeOp,
    onnx.TransposeOp,
    onnx.UnsqueezeOp,
)
"""Ops f with f(-x) = -f(x), by their first operand."""


@dataclass(frozen=True)
class SinkNegationsPass(ModulePass):
    name = "sink-negations"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if isinstance(inner, onnx.NegOp):
                _sink(inner)


def _sink(op: onnx.NegOp) -> None:
    """Drop a Neg if every value between it and an op that absorbs it has one reader."""
    value: SSAValue = op.results[0]
    while (reader := _only_reader(value)) is not None:
        new = _absorb(reader, value, op)
        if new is not None:
            _replace(reader, new)
            op.results[0].replace_all_uses_with(op.operands[0])
            Rewriter.erase_op(op)
            return
        if not _is_odd(reader, value):
            return
        value = reader.results[0]


def _only_reader(value: SSAValue) -> Operation | None:
    """Return the only reader of a value, if it is in the block of the value."""
    uses = list(value.uses)
    block = value.owner.parent if isinstance(value.owner, Operation) else None
    return uses[0].operation if len(uses) == 1 and uses[0].operation.parent is block else None


def _is_odd(op: Operation, value: SSAValue) -> bool:
    if isinstance(op, onnx.MulOp):
        return True
    return isinstance(op, (*_ODD, onnx.DivOp)) and op.operands[0] is value


def _absorb(op: Operation, value: SSAValue, negation: onnx.NegOp) -> Sequence[Operation] | None:
    """Return ops with the result of `op` for the value without its negation; None if they negate, too."""
    kept = negation.operands[0] if value is negation.results[0] else value
    match op:
        case onnx.AddOp():
            other = op.operands[1] if op.operands[0] is value else op.operands[0]
            return [onnx.SubOp(other, kept)]
        case onnx.SubOp() if op.operands[1] is value:
            return [onnx.AddOp(op.operands[0], kept)]
        case onnx.MulOp():
            factor = op.operands[1] if op.operands[0] is value else op.operands[0]
            array = constant_of(factor)
            if array is None or array.size != 1:
                return None
            e = Builder()
            constant = e.emit.constant(-array)
            return [*e.emit.ops, onnx.MulOp(kept, constant)]
        case _:
            return None


def _replace(op: Operation, new: Sequence[Operation]) -> None:
    for one in new:
        one.location = op.location
    last = new[-1]
    set_type(last.results[0], op.results[0].type)
    last.results[0].name_hint = op.results[0].name_hint
    Rewriter.insert_op(new, InsertPoint.before(op))
    op.results[0].replace_all_uses_with(last.results[0])
    Rewriter.erase_op(op)
