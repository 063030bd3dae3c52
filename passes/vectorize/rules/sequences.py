"""Batching rules of ops on sequences: a batched sequence is one of tensors with the new axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from passes.vectorize.batch import Batch, BatchingRule, OpCall, Result, Unbatched
from passes.vectorize.rules.axes import shift


def construct(f: OpCall, b: Batch) -> Sequence[Result] | None:
    if not all(x.has_rank for x in f.present):
        return None
    return f.again(b, [b.expand(x) for x in f.present])


def insert(f: OpCall, b: Batch) -> Sequence[Result] | None:
    """An unbatched sequence must be empty, as its tensors cannot be repeated one by one."""
    sequence, tensor, *position = f.present
    if any(x.batched for x in position) or not (tensor.batched or tensor.has_rank):
        return None
    if not sequence.batched and not sequence.is_empty_sequence:
        return None
    return f.again(b, [sequence.value, b.expand(tensor), *(x.value for x in position)])


def element(f: OpCall, b: Batch) -> Sequence[Result] | None:
    return f.along(b) if f.only_batched(0) else None


def length(f: OpCall, b: Batch) -> Sequence[Result] | None:
    return [Unbatched(x) for x in f.along(b)]


def concat(f: OpCall, b: Batch) -> Sequence[Result] | None:
    return f.along(b, axis=shift(f.value("axis", 0)))


def split(f: OpCall, b: Batch) -> Sequence[Result] | None:
    return f.along(b, axis=shift(f.value("axis", 0))) if f.only_batched(0) else None


RULES: Mapping[str, BatchingRule] = MappingProxyType(
    {
        "ConcatFromSequence": concat,
        "SequenceAt": element,
        "SequenceConstruct": construct,
        "SequenceErase": element,
        "SequenceInsert": insert,
        "SequenceLength": length,
        "SplitToSequence": split,
    }
)
