"""Isolation of one op of a graph as a separate module."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from dialects.support import entry
from dialects.support.constants import constant_attribute


def inputs_of(op: Operation) -> list[SSAValue]:
    """Return the non-constant operands of an op, each once."""
    return [value for value in dict.fromkeys(op.operands) if constant_attribute(value) is None]


def isolated(op: Operation, *, verify: bool = True) -> ModuleOp:
    """Return a module of one op with its constants, and an input `operand<i>` for each of `inputs_of`.

    Ops widened to f64 may fail verification: LayerNormalization's Mean is f32 in ONNX.
    """
    operands = inputs_of(op)
    block = Block(arg_types=[value.type for value in operands])
    values: dict[SSAValue, SSAValue] = dict(zip(operands, block.args, strict=True))
    for value in dict.fromkeys(op.operands):
        if isinstance(value.owner, Operation) and value not in values:
            block.add_op(value.owner.clone(values))
    block.add_op(copy := op.clone(values))
    block.add_op(ReturnOp(*copy.results))
    function = FuncOp("main", ([], []), Region(block))
    entry.update_function_type(function)
    entry.set_names(
        function,
        [f"operand{i}" for i in range(len(operands))],
        [f"result{i}" for i in range(len(copy.results))],
    )
    module = ModuleOp([function])
    if verify:
        module.verify()
    return module
