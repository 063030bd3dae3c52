"""Moves of elements that faults make: a neighbour in place of an element, one of many in place of a sum."""

from __future__ import annotations

from dialects.onnx import ops as onnx
from dialects.onnx.dims import TO_THE_END
from passes.builder.values import Value


def cut(x: Value, start: int, end: int, axis: int, step: int = 1) -> Value:
    e = x.e
    return x.apply(onnx.SliceOp, e.ints([start]), e.ints([end]), e.ints([axis]), e.ints([step]))


def rolled(x: Value, axis: int) -> Value:
    """Each element one place further along an axis, the last one first."""
    parts = [cut(x, -1, TO_THE_END, axis).value, cut(x, 0, -1, axis).value]
    return x.e(x.e.emit(onnx.ConcatOp(parts, axis=axis))).assume_shape(x.shape)


def late(x: Value, axis: int) -> Value:
    """Each element one place further along an axis; the first one stays, the last one is lost."""
    parts = [cut(x, 0, 1, axis).value, cut(x, 0, -1, axis).value]
    return x.e(x.e.emit(onnx.ConcatOp(parts, axis=axis))).assume_shape(x.shape)


def reversed_(x: Value, axis: int) -> Value:
    return cut(x, -1, -TO_THE_END, axis, -1).assume_shape(x.shape)
