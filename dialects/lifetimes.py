"""How long the values of a block are needed when its ops run one after the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from xdsl.ir import Block, Operation, SSAValue

Ends = Mapping[Operation, Sequence[SSAValue]]


def ends_of(block: Block) -> Ends:
    """For each op the values of the block that nothing needs any more once the op has its operands.

    What the regions of an op read is needed until it has run, and what nothing reads until it is there:
    these end with the next op, and with the block if there is none.
    """
    ends: dict[SSAValue, Operation | None] = dict.fromkeys(block.args, block.first_op)
    for op in block.ops:
        read = dict.fromkeys(op.operands, op) | dict.fromkeys(captured_by(op), op.next_op)
        ends |= {value: end for value, end in read.items() if value in ends}
        ends |= dict.fromkeys(op.results, op.next_op)
    found: dict[Operation, list[SSAValue]] = defaultdict(list)
    for value, op in ends.items():
        if op is not None:
            found[op].append(value)
    return found


def captured_by(op: Operation) -> Iterator[SSAValue]:
    """What the ops within the regions of an op read, of their own values and of others."""
    for region in op.regions:
        for inner in region.walk():
            yield from inner.operands
