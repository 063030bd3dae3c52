"""Locations of new ops."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Block, Operation, SSAValue

from dialects.support.diagnostics import location, name_of, position_of


def place_at(ops: Sequence[Operation], source: Operation, what: str, result: SSAValue | None = None) -> None:
    """Give new ops the location of `source`, with the name `<source>.<what>`: the name of a node also names
    its value in requests. The op that defines `result` has the name of `source`."""
    name = name_of(source)
    own = location(f"{name}.{what}" if name else "", position_of(source))
    for op in ops:
        op.location = source.location if result is not None and op is result.owner else own


def place_by_operands(ops: Sequence[Operation], block: Block, what: str) -> None:
    """Give each new op without a location that of the op whose result it reads; those that read none, that of
    the first op of the block."""
    first = next((op for op in block.ops if _is_located(op)), None)
    sources: dict[Operation, Operation] = {}
    for op in ops:
        made = [value.owner for value in op.operands if isinstance(value.owner, Operation)]
        read = [sources.get(one, one) for one in made if one in sources or _is_located(one)]
        source = next(iter(read), first)
        if source is not None and not _is_located(op):
            sources[op] = source
            place_at([op], source, what)


def _is_located(op: Operation) -> bool:
    return not isinstance(op.location, UnknownLoc)
