"""Lifetimes of a block's values under sequential execution."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from xdsl.ir import Block, Operation, SSAValue

Ends = Mapping[Operation, Sequence[SSAValue]]


def last_uses(block: Block) -> Ends:
    """Map each op to the block's values that are dead once the op has read its operands.

    Values that an op's regions capture live until the op has run, and unused results until they exist: both
    end at the next op, or with the block.
    """
    ends: dict[SSAValue, Operation | None] = dict.fromkeys(block.args, block.first_op)
    for op in block.ops:
        read = dict.fromkeys(op.operands, op) | dict.fromkeys(region_operands(op), op.next_op)
        ends |= {value: end for value, end in read.items() if value in ends}
        ends |= dict.fromkeys(op.results, op.next_op)
    found: dict[Operation, list[SSAValue]] = defaultdict(list)
    for value, op in ends.items():
        if op is not None:
            found[op].append(value)
    return found


def region_operands(op: Operation) -> Iterator[SSAValue]:
    """Yield the operands of the ops in an op's regions, including values defined there."""
    for region in op.regions:
        for inner in region.walk():
            yield from inner.operands
