"""Constant-time edits of single operands of ops with thousands of operands.

`op.operands[i] = value` copies all operands of `op`; replacing each of n operands would take n^2 steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

from xdsl.ir import Operation, SSAValue
from xdsl.ir.core import SSAValues

WIDE = 64
"""Number of operands from which on they are stored in a list, edited in place, instead of a tuple."""


class _Operands(Sequence[SSAValue]):
    """List of operands that reads like xDSL's tuple."""

    def __init__(self, values: Sequence[SSAValue]):
        self.values = list(values)

    @overload
    def __getitem__(self, index: int) -> SSAValue: ...
    @overload
    def __getitem__(self, index: slice) -> SSAValues[SSAValue]: ...
    def __getitem__(self, index: int | slice) -> SSAValue | SSAValues[SSAValue]:
        return SSAValues(self.values[index]) if isinstance(index, slice) else self.values[index]

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[SSAValue]:
        return iter(self.values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self.values) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self.values))


def set_operand(op: Operation, index: int, value: SSAValue) -> None:
    """Do `op.operands[index] = value` in constant time."""
    operands: Sequence[SSAValue] = op._operands  # pyright: ignore[reportPrivateUsage]
    if len(operands) < WIDE:
        op.operands[index] = value
        return
    if not isinstance(operands, _Operands):
        operands = _Operands(operands)
        op._operands = operands  # pyright: ignore
    use = op._operand_uses[index]  # pyright: ignore[reportPrivateUsage]
    operands.values[index].remove_use(use)
    value.add_use(use)
    operands.values[index] = value


def replace_uses(old: SSAValue, new: SSAValue, *, but_of: Operation | None = None) -> None:
    """Replace all uses of `old` but those of `but_of`, in time linear in their number; `new` inherits the
    name if it has none."""
    if new is old:
        return
    for use in tuple(old.uses):
        if use.operation is not but_of:
            set_operand(use.operation, use.index, new)
    if new.name_hint is None:
        new.name_hint = old.name_hint
