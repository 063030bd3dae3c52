"""Flat lists of a block's ops for pickle and copy, which would recurse along xDSL's use lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Attribute, Block, Operation, SSAValue


@dataclass(frozen=True)
class OpState:
    """An op without regions; operands are indices into `values_of`."""

    cls: type[Operation]
    operands: Sequence[int]
    result_types: Sequence[Attribute]
    properties: Mapping[str, Attribute]
    attributes: Mapping[str, Attribute]
    location: Any


@dataclass(frozen=True)
class BlockState:
    arguments: Sequence[Attribute]
    ops: Sequence[OpState]
    hints: Sequence[str | None]
    """The name of each value."""


def values_of(block: Block) -> list[SSAValue]:
    """Return the block's arguments and the results of its ops, in order."""
    return [*block.args, *(result for op in block.ops for result in op.results)]


def block_state(block: Block) -> BlockState:
    values = values_of(block)
    number = {value: index for index, value in enumerate(values)}
    ops = [
        OpState(
            type(op),
            [number[operand] for operand in op.operands],
            list(op.result_types),
            dict(op.properties),
            dict(op.attributes),
            op.location,
        )
        for op in block.ops
    ]
    return BlockState(list(block.arg_types), ops, [value.name_hint for value in values])


def block_of(state: BlockState) -> Block:
    block = Block(arg_types=state.arguments)
    values: list[SSAValue] = list(block.args)
    for kept in state.ops:
        op = kept.cls.create(
            operands=[values[number] for number in kept.operands],
            result_types=kept.result_types,
            properties=dict(kept.properties),
            attributes=dict(kept.attributes),
            location=kept.location,
        )
        block.add_op(op)
        values.extend(op.results)
    for value, hint in zip(values, state.hints, strict=True):
        value.name_hint = hint
    return block
