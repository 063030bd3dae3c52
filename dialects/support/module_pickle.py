"""Modules as nested lists without references between ops, for pickle and copy.

Ops refer to the producers of their operands and to the users of their results, so pickling them directly
recurses once per op of a chain.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

FlatModule = list[Any]


def flatten(module: ModuleOp) -> FlatModule:
    """Return the module, its functions and their ops, with operands as indices."""
    functions = [op for op in module.ops if isinstance(op, FuncOp)]
    assert len(functions) == len(module.ops)
    return [_own(module), [(_own(function), _body(function)) for function in functions]]


def unflatten(given: FlatModule) -> ModuleOp:
    """Return a new module from the result of `flatten`."""
    own, functions = given
    module = _create_op(
        ModuleOp, own, regions=[Region(Block([_function(*function) for function in functions]))]
    )
    assert isinstance(module, ModuleOp)
    return module


def _own(op: Operation) -> tuple[Any, ...]:
    return dict(op.properties), dict(op.attributes), op.location


def _body(function: FuncOp) -> list[Any]:
    return [_block(block) for block in function.body.blocks]


def _block(block: Block) -> FlatModule:
    numbers: dict[SSAValue, int] = {}
    for value in (*block.args, *(result for op in block.ops for result in op.results)):
        numbers[value] = len(numbers)
    ops: list[tuple[Any, ...]] = []
    for op in block.ops:
        assert not op.regions
        operands = [numbers[operand] for operand in op.operands]
        ops.append((type(op), operands, _values(op.results), _own(op)))
    return [_values(block.args), ops]


def _values(values: Any) -> list[tuple[Attribute, str | None]]:
    return [(value.type, value.name_hint) for value in values]


def _create_op(cls: type[Operation], own: tuple[Any, ...], **given: Any) -> Operation:
    properties, attributes, location = own
    op = cls.create(properties=properties, attributes=attributes, **given)
    op.location = location
    return op


def _function(own: tuple[Any, ...], blocks: list[Any]) -> Operation:
    return _create_op(FuncOp, own, regions=[Region([_create_block(*block) for block in blocks])])


def _create_block(arguments: list[tuple[Attribute, str | None]], ops: list[Any]) -> Block:
    block = Block(arg_types=[type_ for type_, _ in arguments])
    values: list[SSAValue] = list(block.args)
    hints = [hint for _, hint in arguments]
    for cls, operands, results, own in ops:
        types = [type_ for type_, _ in results]
        op = _create_op(cls, own, operands=[values[number] for number in operands], result_types=types)
        block.add_op(op)
        values += op.results
        hints += [hint for _, hint in results]
    for value, hint in zip(values, hints, strict=True):
        value.name_hint = hint
    return block
