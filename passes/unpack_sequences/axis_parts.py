"""Sequences that split an axis into a dynamic number of parts, or parts of dynamic size. An element is read
as a slice of the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.support.shapes import shape_of
from passes.builder.op_builder import OpBuilder


@dataclass(frozen=True)
class EqualParts:
    """Parts of `step` positions each along an axis; the last one may be shorter. `single` drops the axis. A
    dynamic step is a scalar."""

    data: SSAValue
    axis: int
    step: int | SSAValue
    single: bool

    def count(self, emit: OpBuilder) -> SSAValue:
        size = _size(self.data, self.axis, emit)
        if self.step == 1:
            return size
        step = self._step(emit)
        last = emit(onnx.SubOp(emit(onnx.AddOp(size, step)), _number(emit, 1)))
        return emit(onnx.DivOp(last, step))

    def at(self, place: SSAValue, emit: OpBuilder) -> SSAValue:
        """Return the part at a scalar index, which may be negative."""
        if self.single:
            return emit(onnx.GatherOp(self.data, place, axis=self.axis))
        if self.step == 1:
            return emit(onnx.GatherOp(self.data, _row(place, emit), axis=self.axis))
        place, step = emit(onnx.CastOp(place, to=i64)), self._step(emit)
        from_end = emit(onnx.LessOp(place, _number(emit, 0)))
        place = emit(onnx.WhereOp(from_end, emit(onnx.AddOp(place, self.count(emit))), place))
        start = _row(emit(onnx.MulOp(place, step)), emit)
        return _slice(self.data, self.axis, start, emit(onnx.AddOp(start, step)), emit)

    def concat_parts(self, axis: int, is_new: bool, emit: OpBuilder) -> SSAValue | None:
        """Concatenate or (`is_new`) stack the parts; None for long parts along another axis."""
        rank = len(shape_of(self.data)) - self.single + is_new
        axis %= rank
        if not (is_new or self.single) and axis == self.axis:
            return emit(onnx.IdentityOp(self.data))
        if self.step != 1:
            return None
        value = self.data
        if not self.single:
            value = emit(onnx.UnsqueezeOp(value, emit.ints([self.axis + 1])))
        value = _move_axis(value, self.axis, axis, emit)
        return value if is_new else _merge_axes(value, axis, emit)

    def _step(self, emit: OpBuilder) -> SSAValue:
        if isinstance(self.step, int):
            return _number(emit, self.step)
        return emit(onnx.CastOp(self.step, to=i64))


@dataclass(frozen=True)
class ListedParts:
    """Parts of an axis whose sizes are a vector known at run time."""

    data: SSAValue
    axis: int
    sizes: SSAValue

    def count(self, emit: OpBuilder) -> SSAValue:
        return _size(self.sizes, 0, emit)

    def at(self, place: SSAValue, emit: OpBuilder) -> SSAValue:
        """Return the part at a scalar index, which may be negative."""
        place, sizes = _row(place, emit), emit(onnx.CastOp(self.sizes, to=i64))
        end = emit(onnx.GatherOp(emit(onnx.CumSumOp(sizes, _number(emit, 0))), place, axis=0))
        start = emit(onnx.SubOp(end, emit(onnx.GatherOp(sizes, place, axis=0))))
        return _slice(self.data, self.axis, start, end, emit)

    def concat_parts(self, axis: int, is_new: bool, emit: OpBuilder) -> SSAValue | None:
        """Concatenate all parts along an axis; None if the result is not the data."""
        if is_new or axis % len(shape_of(self.data)) != self.axis:
            return None
        return emit(onnx.IdentityOp(self.data))


def parts_of(data: SSAValue, axis: int, split: SSAValue, single: bool) -> EqualParts | ListedParts | None:
    """Return the parts given by a dynamic `split`, a step or a vector of sizes. None for a step if the parts
    drop the axis, as they do only if it is 1."""
    rank = len(shape_of(split))
    if rank == 0:
        return None if single else EqualParts(data, axis, split, single)
    return ListedParts(data, axis, split) if rank == 1 else None


def _move_axis(value: SSAValue, source: int, target: int, emit: OpBuilder) -> SSAValue:
    """Move an axis to another position."""
    if source == target:
        return emit(onnx.IdentityOp(value))
    order = [i for i in range(len(shape_of(value))) if i != source]
    return emit(onnx.TransposeOp(value, perm=[*order[:target], source, *order[target:]]))


def _merge_axes(value: SSAValue, axis: int, emit: OpBuilder) -> SSAValue:
    """Merge an axis with the next one."""
    rank = len(shape_of(value))
    sizes = [emit.sizes(value, [i]) for i in range(rank)]
    sizes[axis : axis + 2] = [emit.mul(*sizes[axis : axis + 2])]
    return emit(onnx.ReshapeOp(value, emit.concat(sizes), allowzero=1))


def _number(emit: OpBuilder, value: int) -> SSAValue:
    return emit.constant(np.array(value, np.int64))


def _size(value: SSAValue, axis: int, emit: OpBuilder) -> SSAValue:
    return emit(onnx.GatherOp(emit(onnx.ShapeOp(value)), _number(emit, axis), axis=0))


def _row(number: SSAValue, emit: OpBuilder) -> SSAValue:
    return emit(onnx.UnsqueezeOp(number, emit.ints([0])))


def _slice(data: SSAValue, axis: int, start: SSAValue, end: SSAValue, emit: OpBuilder) -> SSAValue:
    return emit(onnx.SliceOp(data, start, end, emit.ints([axis])))
