"""Values that an op reads: its operands, and the captures of its regions."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, Operation, Use

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


def ancestor_in_block(op: Operation, block: Block) -> Operation:
    """Return the op of `block` that is `op` or contains it."""
    while op.parent is not block:
        parent = op.parent_op()
        assert parent is not None, "the op is not within the block"
        op = parent
    return op
