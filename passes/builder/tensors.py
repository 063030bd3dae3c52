"""Small graphs shared by several lowerings: dynamic reshapes, repetition, windows, products."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from xdsl.ir import Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.support.constants import is_const
from dialects.support.dtypes import of_mlir
from dialects.support.shapes import element_type_of, shape_of
from passes.builder.op_builder import OpBuilder

Size = int | SSAValue
"""A static size, or an int64 vector of one element."""


def size_of(emit: OpBuilder, value: SSAValue, axis: int) -> Size:
    dim = shape_of(value)[axis]
    return dim if isinstance(dim, int) else emit.sizes(value, [axis])


def product(emit: OpBuilder, sizes: Sequence[Size]) -> Size:
    known = math.prod(size for size in sizes if isinstance(size, int))
    unknown = [size for size in sizes if not isinstance(size, int)]
    if not unknown:
        return known
    total = unknown[0]
    for size in unknown[1:]:
        total = emit.mul(total, size)
    return total if known == 1 else emit.mul(total, emit.ints([known]))


def sum_values(emit: OpBuilder, parts: Iterable[SSAValue]) -> SSAValue:
    """Sum at least one value, adding each as soon as it is produced."""
    total: SSAValue | None = None
    for part in parts:
        total = part if total is None else emit(onnx.AddOp(total, part))
    assert total is not None
    return total


def reshape(
    emit: OpBuilder, value: SSAValue, sizes: Sequence[Size], *, literal_zeros: bool = False
) -> SSAValue:
    """Reshape to sizes of which some may be dynamic.

    Reshape reads a 0 as "copy the input's size at this index", unless opset 14 or newer has `literal_zeros`.
    In lowered oneDNN ops only the batch may be 0; it is the first axis of input and result, so both readings
    agree.
    """
    if all(isinstance(size, int) for size in sizes):
        known = [size for size in sizes if isinstance(size, int)]
        if tuple(known) == shape_of(value):
            return value
        return emit(onnx.ReshapeOp(value, emit.ints(known)))
    parts = [emit.ints([size]) if isinstance(size, int) else size for size in sizes]
    shape = emit.concat(parts)
    if 0 in [size for size in sizes if isinstance(size, int)]:
        # shape inference rejects a reshape with both a 0 and an unknown size: use any empty tensor
        return emit(onnx.ConstantOfShapeOp(shape, value=_zero_like(value)))
    return emit(onnx.ReshapeOp(value, shape, allowzero=1) if literal_zeros else onnx.ReshapeOp(value, shape))


def repeat(emit: OpBuilder, value: SSAValue, times: Sequence[int]) -> SSAValue:
    """Repeat each position of axis i of a tensor `times[i]` times. `no_resize` must accept the tensor."""
    repeated = onnx.ResizeOp(
        value,
        None,
        emit.constant(np.array(times, np.float32)),
        mode="nearest",
        nearest_mode="floor",
        coordinate_transformation_mode="asymmetric",
    )
    return emit(repeated)


def _zero_like(value: SSAValue) -> np.ndarray:
    dtype = of_mlir(element_type_of(value))
    assert dtype is not None
    return np.zeros(1, dtype.numpy)


def pad_axes(
    emit: OpBuilder,
    value: SSAValue,
    axes: Sequence[int],
    begin: SSAValue,
    end: SSAValue,
    fill: SSAValue | None = None,
) -> SSAValue:
    """Pad axes by vectors of one entry per axis with `fill`, by default 0; negative entries crop."""
    sides = [emit.spread(side, axes, len(shape_of(value))) for side in (begin, end)]
    return emit(onnx.PadOp(value, emit.concat(sides), fill))


def crop(
    emit: OpBuilder,
    value: SSAValue,
    axes: Sequence[int],
    sizes: Sequence[int],
    begins: Sequence[int] | None = None,
) -> SSAValue:
    """Slice the first `sizes` positions of axes, or those from `begins` on."""
    if all(shape_of(value)[axis] == size for axis, size in zip(axes, sizes, strict=True)):
        return value
    begins = begins or [0] * len(sizes)
    ends = [begin + size for begin, size in zip(begins, sizes, strict=True)]
    return emit(onnx.SliceOp(value, emit.ints(begins), emit.ints(ends), emit.ints(axes)))


def multiply_left(emit: OpBuilder, matrix: SSAValue, value: SSAValue) -> SSAValue:
    """Return matrix @ value; the first axis of a value of higher rank is a batch, which the matrix lacks."""
    if not _repeats(matrix, value):
        return emit(onnx.MatMulOp(matrix, value))
    return emit(onnx.MatMulOp(_broadcast_to_batch(emit, matrix, value), value))


def multiply_right(emit: OpBuilder, value: SSAValue, matrix: SSAValue) -> SSAValue:
    """Return value @ matrix, also for an empty batch (quirk transposed-factor-of-an-empty-batch)."""
    if _repeats(matrix, value) and (_is_transposed(value) or not is_const(matrix)):
        matrix = _broadcast_to_batch(emit, matrix, value)
    return emit(onnx.MatMulOp(value, matrix))


def _repeats(matrix: SSAValue, value: SSAValue) -> bool:
    """Return whether the matrix is broadcast over a batch that may be empty."""
    batch = shape_of(value)[0]
    may_be_empty = not isinstance(batch, int) or batch == 0
    return may_be_empty and len(shape_of(value)) > len(shape_of(matrix))


def context_of(op: Operation) -> tuple[bool, ...]:
    """Return the context, beyond the operands, that lowerings depend on: see `multiply_right`, `is_const`."""
    data, *others = op.operands
    return (_is_transposed(data), *map(is_const, others))


_MOVES = (onnx.CastOp, onnx.SliceOp, onnx.PadOp, onnx.GatherOp, onnx.ConcatOp)
"""Ops that onnxruntime may swap with a Transpose, which it then fuses into the product."""


def _is_transposed(value: SSAValue) -> bool:
    op = value.owner
    while isinstance(op, _MOVES):
        op = op.operands[0].owner
    return isinstance(op, onnx.TransposeOp)


def _broadcast_to_batch(emit: OpBuilder, matrix: SSAValue, value: SSAValue) -> SSAValue:
    """Broadcast the matrix to value's rank with a first axis of min(batch, 1).

    It avoids the quirk product-of-an-empty-batch. onnxruntime prepacks only right factors, so a left factor
    need not be an initializer; its Slice takes 2 us (measured with 1.31).
    """
    missing = len(shape_of(value)) - len(shape_of(matrix))
    batched = emit(onnx.UnsqueezeOp(matrix, emit.ints(range(missing))))
    zero, one = emit.ints([0]), emit.ints([1])
    present = emit(onnx.MinOp([emit.sizes(value, [0]), one]))
    return emit(onnx.SliceOp(batched, zero, present, zero))


def contract(
    emit: OpBuilder, value: SSAValue, axis: int, matrix: SSAValue, *, literal_zeros: bool = False
) -> SSAValue:
    """Multiply an axis of Y positions by a matrix (Y, X). Any other axis may be empty with `literal_zeros`,
    otherwise only the first."""
    rank = len(shape_of(value))
    if axis == rank - 1:
        return multiply_right(emit, value, matrix)
    transposed = emit(onnx.TransposeOp(matrix, perm=[1, 0]))
    if axis == rank - 2:
        return multiply_left(emit, transposed, value)
    outer = [size_of(emit, value, a) for a in range(axis)]
    inner = [size_of(emit, value, a) for a in range(axis + 1, rank)]
    y, x = (size_of(emit, matrix, a) for a in (0, 1))
    flat = reshape(emit, value, [*outer, y, product(emit, inner)], literal_zeros=literal_zeros)
    result = multiply_left(emit, transposed, flat)
    return reshape(emit, result, [*outer, x, *inner], literal_zeros=literal_zeros)
