"""infer-types: give every value what its op's operands, attributes and declared type say together.

Names of symbolic dims travel along. A declared type that contradicts is the user's error, located at
the op. Function types follow.

What reads a value may know more of its shape: the channels of diff_dst are those of the weights. An input
that is declared without them is given them, so that a runtime refuses data with others. A size that a named
dim turns out to have is that of all dims of the name.

What then still has two readings is given one, for which the op has a remark.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from passes.emit.type_inference import infer_types


@dataclass(frozen=True)
class InferTypesPass(ModulePass):
    name = "infer-types"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        infer_types(op)
