"""Locations of new ops of the source."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from dialects.support.diagnostics import location, name_of, position_of


def place_at(ops: Sequence[Operation], source: Operation, what: str, result: SSAValue | None = None) -> None:
    """Give new ops the location of `source`, with the name `<source>.<what>`: the name of a node also names
    its value in requests. The op that defines `result` has the name of `source`."""
    name = name_of(source)
    own = location(f"{name}.{what}" if name else "", position_of(source))
    for op in ops:
        op.location = source.location if result is not None and op is result.owner else own
