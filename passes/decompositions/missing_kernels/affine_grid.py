"""AffineGrid by its formula, for runtimes whose kernel deviates from ONNX."""

from __future__ import annotations

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.dims import is_at_least
from dialects.support.shapes import has_rank, shape_of
from passes.autodiff.common.primal import Primal
from passes.builder.values import Builder, Value
from passes.decompositions.registry import Results


def may_have_size_1(op: OnnxOp) -> bool:
    """Return whether an align_corners axis may have size 1: quirk affine-grid-of-size-1."""
    assert isinstance(op, onnx.AffineGridOp)
    if not op.call().attribute("align_corners", 0):
        return False
    sizes = op.call().operand(1).dims
    return sizes is None or not all(is_at_least(size, 2) for size in sizes[2:])


def affine_grid(f: Primal, e: Builder) -> Results | None:
    """Return the sum over the axes of coordinates times a column of theta, plus its last column."""
    op = f.op_as(onnx.AffineGridOp)
    if not has_rank(op.grid):
        return None
    theta, size, corners = e(op.theta), e(op.size), bool(op.call().attribute("align_corners", 0))
    count = len(shape_of(op.grid)) - 2
    total = _column(theta, count, count)
    for axis in range(count):
        line = _places(size.apply(onnx.GatherOp, e.ints([2 + axis]), axis=0), theta, corners)
        others = [i for i in range(count + 2) if i != axis + 1]
        places = line.unsqueeze(others)
        total = total + places * _column(theta, count - 1 - axis, count)
    return [total]


def _column(theta: Value, index: int, count: int) -> Value:
    """Return a column of theta, broadcast to the points of the result."""
    e = theta.e
    column = theta.apply(onnx.GatherOp, e.ints([index]), axis=2).squeeze([2])
    return column.unsqueeze(range(1, count + 1))


def _places(size: Value, like: Value, corners: bool) -> Value:
    """Return the coordinates along an axis, whose size is a vector of one element."""
    e = size.e
    first, one = e.scalar(0, size), e.scalar(1, size)
    numbers = first.apply(onnx.RangeOp, size.squeeze([0]), one).cast(like.dtype)
    if corners:
        return numbers * (2 / (size - 1).at_least(1).cast(like.dtype)) - 1
    return (numbers * 2 + 1) / size.cast(like.dtype) - 1
