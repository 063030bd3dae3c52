"""infer-types: infer all types from operands, attributes and declared types.

Names of symbolic dims are propagated. A contradicting declared type is the user's error, located at the op.
Function types are updated.

A reader may imply a shape: the channels of diff_dst are those of the weights. An input declared without them
gets them, so that a runtime rejects other data. A size inferred for a named dim holds for all dims of that
name.

Remaining ambiguities are resolved to one interpretation, reported as a remark on the op.
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
