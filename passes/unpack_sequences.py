"""unpack-sequences: tensors in place of the sequences and optionals whose elements are known one by one.

A sequence that is constructed, inserted into and erased from at constant positions is a list of tensors at
compile time: what reads it reads them. A SplitToSequence is a Split where the number of its parts is known;
where it is not, or their sizes are not, what reads one by its place reads these elements of the data.
A SequenceMap over such sequences is its body, once for each element. What only run time knows stays.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from passes.emit.sequences import unpack_sequences


@dataclass(frozen=True)
class UnpackSequencesPass(ModulePass):
    name = "unpack-sequences"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        unpack_sequences(op)
