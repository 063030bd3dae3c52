"""Repairs of ops whose constants or operands repeat the batch size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.onnx import ops as onnx
from dialects.support.constants import constant_value
from dialects.support.shapes import Shape, has_rank, shape_of, static_shape
from passes.builder.op_builder import OpBuilder


@dataclass(frozen=True)
class ShapeEntry:
    """Repair: the entry of a Reshape's shape that becomes a multiple of the batch."""

    entry: int
    axis: int
    shape: tuple[int, ...]

    def apply(self, op: Operation, batch: Batch) -> None:
        shape = list(self.shape)
        factor, e = shape[self.entry] // batch.before, OpBuilder()
        copies = not getattr(op, "allowzero", None) or not attribute_of(op, "allowzero", 0)
        if isinstance(batch.size, int):
            shape[self.entry] = factor * batch.size
        elif -1 not in shape:
            shape[self.entry] = -1
        elif self.entry == self.axis and factor == 1 and copies:
            shape[self.entry] = 0
        else:
            _set_operand(op, 1, batch.vector(e, shape, self.entry, factor), e)
            return
        _set_operand(op, 1, e.ints(shape), e)


@dataclass(frozen=True)
class Repeat:
    """Repair: an operand that is repeated along an axis for each element of the batch."""

    operand: int
    axis: int

    def apply(self, op: Operation, batch: Batch) -> None:
        value, e = op.operands[self.operand], OpBuilder()
        shape = [int(n) for n in batch.old[value] if isinstance(n, int)]
        seed = _single_slice(value, shape, self.axis, e)
        shape[self.axis] = 1
        sizes = batch.vector(e, shape, self.axis, 1)
        _set_operand(op, self.operand, e(onnx.ExpandOp(seed, sizes)), e)


Repair = ShapeEntry | Repeat


@dataclass
class Batch:
    """A new batch size or name, the former size, and the values' shapes with the former size."""

    size: int | str
    before: int
    old: Mapping[SSAValue, Shape]
    source: SSAValue | None = None

    def vector(self, e: OpBuilder, shape: Sequence[int], axis: int, factor: int) -> SSAValue:
        """Return a shape tensor with a multiple of the batch at one axis."""
        if isinstance(self.size, int):
            return e.ints([*shape[:axis], factor * self.size, *shape[axis + 1 :]])
        assert self.source is not None
        size: SSAValue = e(onnx.GatherOp(e(onnx.ShapeOp(self.source)), e.ints([0]), axis=0))
        if factor != 1:
            size = e(onnx.MulOp(size, e.ints([factor])))
        parts = [e.ints(part) for part in (shape[:axis], shape[axis + 1 :])]
        return e(onnx.ConcatOp([parts[0], size, parts[1]], axis=0))


def attribute_of(op: Operation, name: str, default: int) -> int:
    """Return the integer attribute of an op, or its default."""
    attributes: Any = op.onnx_attributes() if hasattr(op, "onnx_attributes") else {}  # pyright: ignore
    found = attributes.get(name)
    return default if found is None else int(found)


def ints_of(value: SSAValue) -> list[int] | None:
    """Return the elements of a constant, or None."""
    found = constant_value(value)
    return None if found is None else [int(n) for n in np.ravel(found)]


def may_repeat(value: SSAValue, axis: int, size: int) -> bool:
    """Return whether a value is the repetition of a slice of size 1 along an axis."""
    return size == 1 or _expand_source(value, axis) is not None or _equal_slices(value, axis) is not None


def _expand_source(value: SSAValue, axis: int) -> SSAValue | None:
    """Return the operand that an Expand repeats along an axis to make a value, or None."""
    op = value.owner
    if not isinstance(op, onnx.ExpandOp) or not has_rank(op.operands[0]):
        return None
    shape, rank = shape_of(op.operands[0]), len(shape_of(value))
    own = axis - (rank - len(shape))
    return op.operands[0] if own < 0 or shape[own] == 1 else None


def _equal_slices(value: SSAValue, axis: int) -> np.ndarray | None:
    """Return the first slice of a constant along an axis if all slices are equal, else None."""
    array = _constant_array(value)
    if array is None:
        return None
    first = array.take([0], axis)
    return first if np.array_equal(np.broadcast_to(first, array.shape), array) else None


def _constant_array(value: SSAValue) -> np.ndarray | None:
    """Return the array of a constant, also of one that an Expand to a known shape leaves as it is."""
    op = value.owner
    if not isinstance(op, onnx.ExpandOp):
        return constant_value(value)
    array = constant_value(op.operands[0])
    return array if array is not None and array.shape == static_shape(value) else None


def _single_slice(value: SSAValue, shape: Sequence[int], axis: int, e: OpBuilder) -> SSAValue:
    """Return the value of size 1 along an axis whose repetition is `value`."""
    if shape[axis] == 1:
        return value
    if (repeated := _expand_source(value, axis)) is not None:
        return repeated
    array = _equal_slices(value, axis)
    assert array is not None
    return e.constant(array)


def _set_operand(op: Operation, index: int, value: SSAValue, e: OpBuilder) -> None:
    """Replace an operand; insert the builder's ops before the op."""
    for new in e.ops:
        new.location = op.location
    Rewriter.insert_op(list(e.ops), InsertPoint.before(op))
    op.operands[index] = value
