"""What is written for an op, kept for the ops that are like it: networks repeat their layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Block, Operation, SSAValue

from dialects.support.memo import Memo
from dialects.support.state import state_of
from passes.emit.rewriting import Emitter

MOST_TEMPLATES, MOST_BYTES = 2048, 2**16
"""Of a collection, and of the constants of a template."""


@dataclass(frozen=True)
class Template:
    """Ops on arguments that stand for the operands of what they are written for, and their results."""

    arguments: Sequence[SSAValue]
    ops: Sequence[Operation]
    values: Sequence[SSAValue]

    @classmethod
    def of(cls, op: Operation, write: Callable[[Emitter], Sequence[SSAValue]]) -> Template | None:
        """None for what holds larger constants than are worth their memory."""
        emit = Emitter()
        values = write(emit)
        if sum(map(_constant_bytes, emit.ops)) > MOST_BYTES:
            for emitted in reversed(emit.ops):
                emitted.drop_all_references()
            return None
        arguments = Block(arg_types=op.operand_types).args
        instead: dict[SSAValue, SSAValue] = dict(zip(op.operands, arguments, strict=True))
        for emitted in emit.ops:
            emitted.operands = [instead.get(operand, operand) for operand in emitted.operands]
        return cls(arguments, emit.ops, [instead.get(value, value) for value in values])

    def write(self, op: Operation, emit: Emitter) -> Sequence[SSAValue]:
        """A copy on the op's own operands."""
        values: dict[SSAValue, SSAValue] = dict(zip(self.arguments, op.operands, strict=True))
        for kept in self.ops:
            emit.ops.append(kept.clone_without_regions(values))
        return [values.get(value, value) for value in self.values]


def _constant_bytes(op: Operation) -> int:
    value = op.properties.get("value")
    return len(value.data.data) if isinstance(value, DenseIntOrFPElementsAttr) else 0


def templates() -> Memo:
    """An empty collection."""
    return Memo(MOST_TEMPLATES)


def write_templated(
    op: Operation,
    known: Memo,
    emit: Emitter,
    write: Callable[[Emitter], Sequence[SSAValue]],
    *further: object,
) -> Sequence[SSAValue]:
    """What `write` gives for an op, which looks at nothing but the op's operands, its state, and `further`,
    objects that are the same where they are equal. `known` has what was written for other ops."""
    state = state_of(op)
    if state is None or len(set(op.operands)) < len(op.operands):
        return write(emit)
    template = known.get((*state, *further), lambda: Template.of(op, write))
    return write(emit) if template is None else template.write(op, emit)
