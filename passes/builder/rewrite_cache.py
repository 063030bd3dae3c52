"""Cache of lowered ops, reused for equal ops: networks repeat their layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Block, Operation, SSAValue

from dialects.support.memo import Memo
from dialects.support.op_cache_key import state_of
from passes.builder.op_builder import OpBuilder

MOST_TEMPLATES, MOST_BYTES = 2048, 2**16
"""Limits on the templates of a cache, and on the constant bytes of a template."""


@dataclass(frozen=True)
class Template:
    """Lowered ops on block arguments that replace the operands, and the result values."""

    arguments: Sequence[SSAValue]
    ops: Sequence[Operation]
    values: Sequence[SSAValue]

    @classmethod
    def of(cls, op: Operation, write: Callable[[OpBuilder], Sequence[SSAValue]]) -> Template | None:
        """Lower an op into a template; None if its constants are too large to store."""
        emit = OpBuilder()
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

    def write(self, op: Operation, emit: OpBuilder) -> Sequence[SSAValue]:
        """Clone the template with the op's operands."""
        values: dict[SSAValue, SSAValue] = dict(zip(self.arguments, op.operands, strict=True))
        for kept in self.ops:
            emit.ops.append(kept.clone_without_regions(values))
        return [values.get(value, value) for value in self.values]


def _constant_bytes(op: Operation) -> int:
    value = op.properties.get("value")
    return len(value.data.data) if isinstance(value, DenseIntOrFPElementsAttr) else 0


def templates() -> Memo:
    """Return an empty template cache."""
    return Memo(MOST_TEMPLATES)


def write_from_template(
    op: Operation,
    known: Memo,
    emit: OpBuilder,
    write: Callable[[OpBuilder], Sequence[SSAValue]],
    *further: object,
) -> Sequence[SSAValue]:
    """Return what `write` returns for an op, from the cache `known` if possible. `write` must depend only on
    the op's operands, its state and `further`, hashable objects."""
    state = state_of(op)
    if state is None or len(set(op.operands)) < len(op.operands):
        return write(emit)
    template = known.get((*state, *further), lambda: Template.of(op, write))
    return write(emit) if template is None else template.write(op, emit)
