"""Moves of elements that faults make: a neighbour in place of an element, one of many in place of a sum."""

from __future__ import annotations

from dialects.onnx import ops as onnx
from dialects.onnx.dims import TO_THE_END
from passes.builder.values import Expr


def cut(x: Expr, start: int, end: int, axis: int, step: int = 1) -> Expr:
    e = x.e
    return x.apply(onnx.SliceOp, e.ints([start]), e.ints([end]), e.ints([axis]), e.ints([step]))


def rolled(x: Expr, axis: int) -> Expr:
    """Each element one place further along an axis, the last one first."""
    parts = [cut(x, -1, TO_THE_END, axis).value, cut(x, 0, -1, axis).value]
    return x.e(x.e.emit(onnx.ConcatOp(parts, axis=axis))).assumed(x.shape)


def late(x: Expr, axis: int) -> Expr:
    """Each element one place further along an axis; the first one stays, the last one is lost."""
    parts = [cut(x, 0, 1, axis).value, cut(x, 0, -1, axis).value]
    return x.e(x.e.emit(onnx.ConcatOp(parts, axis=axis))).assumed(x.shape)


def reversed_(x: Expr, axis: int) -> Expr:
    return cut(x, -1, -TO_THE_END, axis, -1).assumed(x.shape)
