"""Search for existing ops that compute the same as given ones, and their motion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Block, Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.opset_range import nondefault_attributes
from dialects.onnx.values import constant_of

_COMMUTE = (onnx.AddOp, onnx.MulOp)


def equal_ops(block: Block, wanted: Sequence[Operation]) -> list[Operation] | None:
    """Return for each op of a connected list an op of the block that computes the same; constants are left
    out. None if any has no equal."""
    same: dict[SSAValue, SSAValue] = {}
    found: list[Operation] = []
    for op in wanted:
        if isinstance(op, onnx.ConstantOp):
            continue
        equal = _equal(block, op, same)
        if equal is None:
            return None
        found.append(equal)
        same |= zip(op.results, equal.results, strict=True)
    return found


def bring_forward(ops: Sequence[Operation], data: SSAValue) -> None:
    """Move ops, whose other operands are constants, right behind the definition of `data`."""
    block = ops[0].parent
    assert block is not None
    moved = list(ops)
    for op in ops:
        for index, value in enumerate(op.operands):
            if isinstance(value.owner, onnx.ConstantOp):
                copy = value.owner.clone()
                moved.insert(moved.index(op), copy)
                op.operands[index] = copy.output
    for op in ops:
        op.detach()
    if isinstance(data.owner, Operation) and data.owner.parent is block:
        block.insert_ops_after(moved, data.owner)
    else:
        first = block.first_op
        assert first is not None
        block.insert_ops_before(moved, first)


def _equal(block: Block, op: Operation, same: dict[SSAValue, SSAValue]) -> Operation | None:
    operands = [same.get(value, value) for value in op.operands]
    data = next((value for value in operands if constant_of(value) is None), None)
    if data is None or not isinstance(op, OnnxOp):
        return None
    for use in data.uses:
        user = use.operation
        if type(user) is type(op) and user.parent is block and _are_equal(user, op, operands):
            return user
    return None


def _are_equal(user: Operation, op: OnnxOp, operands: Sequence[SSAValue]) -> bool:
    assert isinstance(user, OnnxOp)
    if user.result_types != op.result_types or nondefault_attributes(user) != nondefault_attributes(op):
        return False
    orders = [operands, operands[::-1]] if isinstance(op, _COMMUTE) else [operands]
    return any(_are_same(user.operands, order) for order in orders)


def _are_same(values: Sequence[SSAValue], others: Sequence[SSAValue]) -> bool:
    return len(values) == len(others) and all(map(_is_same, values, others))


def _is_same(value: SSAValue, other: SSAValue) -> bool:
    if value is other:
        return True
    one, two = constant_of(value), constant_of(other)
    return one is not None and two is not None and one.dtype == two.dtype and np.array_equal(one, two)
