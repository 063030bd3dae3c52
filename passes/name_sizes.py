"""name-sizes: a symbol for every size of which nothing is known, once per value.

What is computed of such sizes is then known to be equal where it is: the sum of two tensors of one unknown
size has that size, and its Shape need not be asked for again. A symbol that no source names is only for the
passes: `merge_equal` looks past it, and a model does not have it.
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
