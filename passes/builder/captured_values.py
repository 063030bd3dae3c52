"""Values that an op reads: its operands, and the captures of its regions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from xdsl.ir import Block, Operation, SSAValue, Use

from passes.builder.pattern_driver import ops_within


def uses_by(op: Operation) -> Iterator[Use]:
    """Yield the uses of outer values by an op: its operands in order, then the captures of its regions."""
    for index in range(len(op.operands)):
        yield Use(op, index)
    if not op.regions:
        return
    inside = [inner for region in op.regions for inner in ops_within(region)]
    blocks = {block for region in op.regions for block in region.blocks}
    blocks |= {block for inner in inside for region in inner.regions for block in region.blocks}
    for inner in inside:
        for index, value in enumerate(inner.operands):
            owner = value.owner
            if (owner.parent if isinstance(owner, Operation) else owner) not in blocks:
                yield Use(inner, index)


def values_read_by(op: Operation) -> Iterator[SSAValue]:
    """Yield the outer values that an op reads: its operands in order, then the captures of its regions."""
    yield from op.operands
    if op.regions:
        captures = islice(uses_by(op), len(op.operands), None)
        yield from (use.operation.operands[use.index] for use in captures)


def dependents(ops: Iterable[Operation], values: Iterable[SSAValue]) -> tuple[list[Operation], set[SSAValue]]:
    """Return the ops that depend on values, in order, and the values with the results of these ops."""
    found, reached = list[Operation](), set(values)
    for op in ops:
        if not reached.isdisjoint(values_read_by(op)):
            found.append(op)
            reached.update(op.results)
    return found, reached


def ancestor_in_block(op: Operation, block: Block) -> Operation:
    """Return the op of `block` that is `op` or contains it."""
    while op.parent is not block:
        parent = op.parent_op()
        assert parent is not None, "the op is not within the block"
        op = parent
    return op
