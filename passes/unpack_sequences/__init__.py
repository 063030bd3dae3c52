"""unpack-sequences: replace sequences and optionals with statically known elements by tensors.

A sequence that is constructed, inserted into and erased from at constant indices is a list of tensors at
compile time. A SplitToSequence is a Split if the number of its parts is static; otherwise, or for dynamic
part sizes, reading an element is a slice of the data. A SequenceMap over such sequences repeats its body for
each element. Other sequences are left unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from passes.simplify import simplify
from passes.unpack_sequences.sequences import unpack_sequences


@dataclass(frozen=True)
class UnpackSequencesPass(ModulePass):
    """`simplify`: simplify the module if any sequence was replaced."""

    name = "unpack-sequences"

    simplify: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if unpack_sequences(op) and self.simplify:
            simplify(op)
