"""Rank inference for the elements of sequences of dynamic length."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp, UnrankedTensorType
from xdsl.ir import Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.types import SequenceType
from dialects.support.interfaces import set_type
from dialects.support.shapes import has_rank, shape_of, tensor_type
from passes.infer_types import infer_types

SEVERAL = -1
"""Marks elements of different ranks."""


def normalize_elements(module: ModuleOp) -> None:
    """Infer the rank that all elements of a sequence share, and the types that follow."""
    if not any(isinstance(value.type, SequenceType) for op in module.walk() for value in op.results):
        return
    ranks: dict[SSAValue, int] = {}
    while _propagate(module, ranks):
        infer_types(module)


def _propagate(module: ModuleOp, ranks: dict[SSAValue, int]) -> bool:
    news = False
    for op in module.walk():
        for value, rank in _elements(op, ranks):
            merged = rank if ranks.get(value, rank) == rank else SEVERAL
            news |= ranks.get(value) != merged
            ranks[value] = merged
    for op in module.walk():
        for value, rank in _tensors(op, ranks):
            if isinstance(value.type, UnrankedTensorType) and rank >= 0:
                set_type(value, tensor_type(value.type.element_type, (None,) * rank))
                news = True
    return news


def _elements(op: Operation, ranks: dict[SSAValue, int]) -> Iterator[tuple[SSAValue, int]]:
    """Yield sequences with a rank of some of their elements."""
    match op:
        case onnx.SplitToSequenceOp() if has_rank(op.operands[0]):
            single = len(op.operands) == 1 and not op.onnx_attributes().get("keepdims", 1)
            yield op.results[0], len(shape_of(op.operands[0])) - single
        case onnx.SequenceConstructOp() | onnx.SequenceInsertOp():
            tensors = op.operands if isinstance(op, onnx.SequenceConstructOp) else op.operands[1:2]
            yield from ((op.results[0], len(shape_of(x))) for x in tensors if has_rank(x))
            yield from _same(op.operands[0], op.results[0], ranks)
        case onnx.SequenceEraseOp() | onnx.IdentityOp():
            yield from _same(op.operands[0], op.results[0], ranks)
        case onnx.SequenceMapOp():
            made = _yield_operands(op, 0)
            yield from ((r, len(shape_of(x))) for x, r in zip(made, op.results, strict=True) if has_rank(x))
        case onnx.LoopOp():
            states, made = len(op.v_initial), _yield_operands(op, 0)[1:]
            arguments = op.regions[0].block.args[2:]
            for source in (op.v_initial, made[:states]):
                for target in (arguments, op.results[:states]):
                    for one, other in zip(source, target, strict=True):
                        yield from _same(one, other, ranks)
        case onnx.IfOp():
            for index in range(len(op.regions)):
                for one, other in zip(_yield_operands(op, index), op.results, strict=True):
                    yield from _same(one, other, ranks)
        case _:
            pass


def _tensors(op: Operation, ranks: dict[SSAValue, int]) -> Iterator[tuple[SSAValue, int]]:
    """Yield tensors read from sequences, or concatenated from them, with their ranks."""
    match op:
        case onnx.SequenceAtOp() if op.operands[0] in ranks:
            yield op.results[0], ranks[op.operands[0]]
        case onnx.ConcatFromSequenceOp() if ranks.get(op.operands[0], SEVERAL) != SEVERAL:
            is_new = bool(op.onnx_attributes().get("new_axis", 0))
            yield op.results[0], ranks[op.operands[0]] + is_new
        case onnx.SequenceMapOp():
            arguments = op.regions[0].block.args
            yield from ((a, ranks[x]) for x, a in zip(op.operands, arguments, strict=True) if x in ranks)
        case _:
            pass


def _same(one: SSAValue, other: SSAValue, ranks: dict[SSAValue, int]) -> Iterator[tuple[SSAValue, int]]:
    if one in ranks and isinstance(other.type, SequenceType):
        yield other, ranks[one]


def _yield_operands(op: Operation, index: int) -> tuple[SSAValue, ...]:
    last = op.regions[index].block.last_op
    assert last is not None
    return tuple(last.operands)
