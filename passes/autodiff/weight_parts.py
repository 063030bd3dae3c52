"""Parts of a weight that ops take along axes, as those of the gates of a cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, OpResult, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.values import dims_of
from dialects.support.shapes import Shape, has_rank, shape_of

Part = Mapping[int, frozenset[int]]
"""Axis -> the positions that are taken; of other axes all are. {}: the whole weight."""

WHOLE: Part = {}


def part_of(value: SSAValue, weight: SSAValue) -> Part:
    """Return the part of a weight that a value is, or is computed from: that of the Slice, Split or Gather
    that reads the weight itself."""
    while isinstance(value, OpResult) and value is not weight and value.op.operands:
        if value.op.operands[0] is weight:
            return _find_part(value.op, value.index) or WHOLE
        value = value.op.operands[0]
    return WHOLE


def parts_of(op: Operation, weight: SSAValue) -> Sequence[Part]:
    """Return the parts of a weight that an op reads."""
    if op.operands[0] is not weight or weight in op.operands[1:]:
        return [WHOLE]
    return [_find_part(op, index) or WHOLE for index in range(len(op.results))]


def are_disjoint(one: Part, other: Part) -> bool:
    return any(one[axis].isdisjoint(other[axis]) for axis in one.keys() & other.keys())


def _find_part(op: Operation, index: int) -> Part | None:
    """Return the part of its operand that a result of an op is, if it is known."""
    if not has_rank(op.operands[0]):
        return None
    shape = shape_of(op.operands[0])
    if isinstance(op, onnx.SliceOp):
        return _of_slice(op, shape)
    if isinstance(op, onnx.GatherOp):
        return _of_gather(op, shape)
    if isinstance(op, onnx.SplitOp):
        return _of_split(op, shape, index)
    return None


def _of_slice(op: onnx.SliceOp, shape: Shape) -> Part | None:
    starts, ends = _integers(op.starts), _integers(op.ends)
    if starts is None or ends is None:
        return None
    axes = range(len(starts)) if op.axes is None else _integers(op.axes)
    steps = [1] * len(starts) if op.steps is None else _integers(op.steps)
    if axes is None or steps is None:
        return None
    found: dict[int, frozenset[int]] = {}
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        size = shape[axis]
        if not isinstance(size, int):
            return None
        found[axis % len(shape)] = frozenset(range(size)[start:end:step])
    return found


def _of_gather(op: onnx.GatherOp, shape: Shape) -> Part | None:
    indices, axis = _integers(op.indices), _axis(op, len(shape))
    size = shape[axis]
    if indices is None or not isinstance(size, int) or not size:
        return None
    return {axis: frozenset(one % size for one in indices)}


def _of_split(op: onnx.SplitOp, shape: Shape, index: int) -> Part | None:
    axis = _axis(op, len(shape))
    sizes = [shape_of(result)[axis] if has_rank(result) else None for result in op.results]
    before = [size for size in sizes[: index + 1] if isinstance(size, int)]
    if len(before) <= index:
        return None
    end = sum(before)
    return {axis: frozenset(range(end - before[-1], end))}


def _integers(value: SSAValue) -> list[int] | None:
    """Return the elements of an integer scalar or vector, if all are known."""
    found = dims_of(value)
    known = [one for one in found or () if isinstance(one, int)]
    return known if found is not None and len(known) == len(found) else None


def _axis(op: onnx.GatherOp | onnx.SplitOp, rank: int) -> int:
    return op.axis.value.data % rank if op.axis is not None else 0
