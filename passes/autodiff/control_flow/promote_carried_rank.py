"""Promote the rank of loop accumulators that start as a scalar or with fewer axes.

`total = 0`, then `total = total + x` in each step: the total has more axes from the first step on. Leading
axes of size 1 give it one rank throughout, and elementwise readers compute the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, TensorType, UnrankedTensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.onnx import ops as onnx
from dialects.onnx import traits
from dialects.onnx.base import OnnxOp
from dialects.onnx.declared_types import DECLARED
from dialects.support.interfaces import InfersTypes, refine_results, set_type
from dialects.support.shapes import element_type_of, has_rank, shape_of, tensor_type
from passes.builder.captured_values import values_read_by
from passes.builder.op_builder import OpBuilder
from passes.builder.operands import set_operand


def raise_ranks(op: onnx.LoopOp) -> bool:
    """Promote carried values whose result is declared with the larger rank; return whether any changed."""
    raised = [_raise(op, index) for index in range(len(op.v_initial))]
    return any(raised)


def _raise(op: onnx.LoopOp, index: int) -> bool:
    last = op.body.block.last_op
    assert last is not None
    argument, initial, made = op.body.block.args[2 + index], op.v_initial[index], last.operands[1 + index]
    if not has_rank(initial) or not has_rank(made) or not argument.uses:
        return False
    rank, missing = len(shape_of(made)), len(shape_of(made)) - len(shape_of(initial))
    if missing <= 0 or _rank_of_declaration(op, index) != rank:
        return False
    changed = _widened_ops(op.body.block, argument, rank)
    if changed is None:
        return False
    emit = OpBuilder()
    longer = emit(onnx.UnsqueezeOp(initial, emit.ints(range(missing))))
    for new in emit.ops:
        new.location = op.location
    Rewriter.insert_op(emit.ops, InsertPoint.before(op))
    set_operand(op, len(op.operands) - len(op.v_initial) + index, longer)
    element = element_type_of(initial)
    set_type(argument, tensor_type(element, [None] * rank))
    set_type(op.results[index], tensor_type(element, [None] * rank))
    for one in changed:
        set_type(one.results[0], UnrankedTensorType(element_type_of(one.results[0])))
        if isinstance(one, InfersTypes):
            refine_results(one)
    return True


def _rank_of_declaration(op: onnx.LoopOp, index: int) -> int | None:
    """Return the rank of a result as the model declares it."""
    result, declared = op.results[index], op.attributes.get(DECLARED)
    if has_rank(result):
        return len(shape_of(result))
    type_ = declared.data[index] if isinstance(declared, ArrayAttr) else None
    return len(type_.get_shape()) if isinstance(type_, TensorType) else None


def _widened_ops(block: Block, argument: SSAValue, rank: int) -> Sequence[Operation] | None:
    """Return the ops whose results get `rank` axes with the argument; None if one of them, or the end of a
    step, is not elementwise."""
    wider, changed = {argument}, list[Operation]()
    for op in block.ops:
        if wider.isdisjoint(op.operands):
            if not wider.isdisjoint(values_read_by(op)):
                return None
            continue
        if not isinstance(op, OnnxOp) or op.onnx_name() not in traits.POINTWISE or len(op.results) != 1:
            return None
        others = [value for value in op.operands if value not in wider]
        if not all(map(has_rank, others)):
            return None
        if all(len(shape_of(value)) < rank for value in others):
            wider.add(op.results[0])
            changed.append(op)
    return changed
