"""name-sizes: give every unknown size a symbol, one per value and axis.

Sizes computed from them are then known to be equal: the sum of two tensors with the same unknown size has
that size, and no second Shape is needed. Fresh symbols exist only within the passes: `merge_equal` ignores
them, and they are not exported.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from passes.emit.size_names import name_sizes


@dataclass(frozen=True)
class NameSizesPass(ModulePass):
    name = "name-sizes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        name_sizes(op)
