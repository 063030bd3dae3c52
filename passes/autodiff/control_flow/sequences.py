"""VJP rules of ops on sequences of dynamic length.

The cotangent of a sequence is the sequence of its elements' cotangents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from xdsl.dialects.builtin import UnitAttr, UnrankedTensorType
from xdsl.ir import Attribute, Block, Region, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.control import YieldOp
from dialects.onnx.types import SequenceType
from dialects.support.dtypes import of_mlir
from dialects.support.shapes import has_rank
from passes.autodiff.activity.active_values import FLOATS
from passes.autodiff.common.primal import ZERO, Gradient, Primal, Rule
from passes.builder.values import SUM, Builder, Value


def is_sequence(value: SSAValue) -> bool:
    """Return whether the value is a sequence of float tensors."""
    element = _element(value)
    dtype = None if element is None else of_mlir(element)
    return dtype is not None and dtype.name in FLOATS


def _element(value: SSAValue) -> Attribute | None:
    of = value.type.element if isinstance(value.type, SequenceType) else None
    return of.element_type if has_rank(of) or isinstance(of, UnrankedTensorType) else None  # pyright: ignore


def zeros_like(e: Builder, value: SSAValue) -> Value:
    """Return a tensor of zeros, or a sequence of them."""
    if not is_sequence(value):
        return e.fill_like(0, e(value))
    return _map([e(value)], lambda inner, row: inner.fill_like(0, row[0]))


def add_values(a: Value, b: Value) -> Value:
    """Return the sum of two tensors, or the elementwise sum of two sequences."""
    if not is_sequence(a.value):
        return a + b
    total = _map([a, b], lambda inner, row: row[0] + row[1])
    assert isinstance(total.value.owner, onnx.SequenceMapOp)
    total.value.owner.attributes[SUM] = UnitAttr()
    return total


def _map(values: Sequence[Value], made: Callable[[Builder, Sequence[Value]], Value]) -> Value:
    first, *others = (value.value for value in values)
    dtype = _element(first)
    assert dtype is not None
    block, inner = Block(arg_types=[UnrankedTensorType(dtype)] * len(values)), Builder()
    result = made(inner, [inner(argument) for argument in block.args]).value
    block.add_ops([*inner.emit.ops, YieldOp(result)])
    assert isinstance(result.type, UnrankedTensorType) or has_rank(result)
    type_ = SequenceType(UnrankedTensorType(result.type.element_type))  # pyright: ignore
    e = values[0].e
    return e(e.emit(onnx.SequenceMapOp(first, others, body=Region(block), result_types=[type_])))


def _wrap_position(f: Primal, position: Value | None) -> Value | None:
    """Return a non-negative position."""
    if position is None:
        return None
    place = position.as_int64()
    return (place < 0).where(place + f.x.apply(onnx.SequenceLengthOp), place)


def _number(e: Builder, value: int) -> Value:
    return e(e.emit.constant(np.array(value, np.int64)))


def _at(g: Value, place: Value | None, like: Value) -> Value:
    found = g.apply(onnx.SequenceAtOp, _number(g.e, -1) if place is None else place)
    return found.assume_shape(like.shape) if has_rank(like.value) else found


def _insert(g: Value, place: Value | None, element: Value) -> Value:
    """Insert an element; at the end if `place` is None."""
    e, given = g.e, None if place is None else place.value
    return e(e.emit(onnx.SequenceInsertOp(g.value, element.value, given, result_types=[g.value.type])))


def _erase(g: Value, place: Value | None) -> Value:
    """Erase an element; the last if `place` is None."""
    e, given = g.e, None if place is None else place.value
    return e(e.emit(onnx.SequenceEraseOp(g.value, given, result_types=[g.value.type])))


def at(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of SequenceAt: zeros with the cotangent at the position."""
    place = _wrap_position(f, f.operand(1))
    return (_insert(_erase(zeros_like(e, f.x.value), place), place, g[0]), ZERO)


def insert(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    element = f.operand(1)
    assert element is not None
    place = _wrap_position(f, f.operand(2))
    return (_erase(g[0], place), _at(g[0], place, element), ZERO)


def erase(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    place = _wrap_position(f, f.operand(1))
    gone = f.x.apply(onnx.SequenceAtOp, _number(e, -1) if place is None else place)
    return (_insert(g[0], place, e.fill_like(0, gone)), ZERO)


def construct(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    places = (_number(e, i) for i in range(len(f.operands)))
    return [ZERO if x is None else _at(g[0], place, x) for x, place in zip(f.operands, places, strict=True)]


def split(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    single = f.operand(1) is None and not f.value("keepdims", 1)
    joined = g[0].apply(onnx.ConcatFromSequenceOp, axis=f.value("axis", 0), new_axis=int(single))
    return (joined.assume_shape(f.x.shape), ZERO)


def concat(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of ConcatFromSequence: split at the boundaries of the elements."""
    axis = f.value("axis") % g[0].rank
    if f.value("new_axis", 0):
        return (g[0].apply(onnx.SplitToSequenceOp, None, axis=axis, keepdims=0),)
    place = [axis]
    lengths = _map(
        [f.x], lambda inner, row: row[0].apply(onnx.ShapeOp).apply(onnx.GatherOp, inner.ints(place), axis=0)
    )
    return (g[0].apply(onnx.SplitToSequenceOp, _concat_lengths(lengths), axis=axis),)


def _concat_lengths(lengths: Value) -> Value:
    return lengths.apply(onnx.ConcatFromSequenceOp, axis=0)


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "ConcatFromSequence": concat,
        "SequenceAt": at,
        "SequenceConstruct": construct,
        "SequenceErase": erase,
        "SequenceInsert": insert,
        "SplitToSequence": split,
    }
)
"""ONNX op -> its rule."""
