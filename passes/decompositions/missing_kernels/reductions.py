"""ReduceProd, ReduceMax and ReduceMin axis by axis."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

import numpy as np
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.call import axes_of
from dialects.onnx.dims import ints
from dialects.support.dtypes import FLOATS, name_of
from dialects.support.shapes import Dim, element_type_of, shape_of
from passes.autodiff.common.primal import Primal
from passes.builder.op_builder import OpBuilder
from passes.builder.values import Builder
from passes.decompositions.missing_kernels.pointwise import scalar
from passes.decompositions.registry import Results

MOST_FACTORS = 64
"""Limit on the factors of an expanded product: each is an op."""


def reduce_prod(f: Primal, e: Builder) -> Results | None:
    """Multiply the entries of small static axes; None for other sizes."""
    op, emit = f.op_as(onnx.ReduceProdOp), e.emit
    reduced = _reduced_axes(op) or {}
    sizes = ints([*reduced.values()])
    if sizes is None or not 0 < sum(sizes) <= MOST_FACTORS or 0 in sizes:
        return None
    value: SSAValue = op.data
    for axis, size in zip(reduced, sizes, strict=True):
        entries = [emit(onnx.GatherOp(value, emit.ints([at]), axis=axis)) for at in range(size)]
        value = reduce(lambda a, b: emit(onnx.MulOp(a, b)), entries)
    return [_drop_reduced_axes(emit, op, value, reduced)]


def _drop_reduced_axes(emit: OpBuilder, op: OnnxOp, value: SSAValue, reduced: Iterable[int]) -> SSAValue:
    """Drop the reduced axes unless the op keeps them, by Gather: more targets have it than Squeeze."""
    if op.call().attribute("keepdims", 1):
        return value
    first = emit.constant(np.array(0, np.int64))
    for axis in sorted(reduced, reverse=True):
        value = emit(onnx.GatherOp(value, first, axis=axis))
    return value


Extreme = onnx.ReduceMaxOp | onnx.ReduceMinOp


def reduce_extreme(f: Primal, e: Builder) -> Results | None:
    """Reduce axis by axis; None for run-time axes, or for integers of dynamic sizes."""
    op, emit = f.op, e.emit
    assert isinstance(op, Extreme)
    reduced = _reduced_axes(op)
    if reduced is None:
        return None
    is_float = name_of(element_type_of(op.data)) in FLOATS
    value: SSAValue = op.data
    for axis, size in reduced.items():
        if isinstance(size, int) and size > 0:
            value = _by_halves(emit, op, value, axis)
        elif is_float:
            value = _by_place(emit, op, value, axis)
        else:
            return None
    return [_drop_reduced_axes(emit, op, value, reduced)]


def _by_halves(emit: OpBuilder, op: Extreme, value: SSAValue, axis: int) -> SSAValue:
    """Reduce an axis of static size by halving; the halves overlap if it is odd."""
    larger = onnx.MaxOp if isinstance(op, onnx.ReduceMaxOp) else onnx.MinOp
    size = shape_of(value)[axis]
    assert isinstance(size, int)
    while size > 1:
        half = (size + 1) // 2
        ends = ((0, half), (size - half, size))
        first, second = (emit(onnx.SliceOp(value, *map(emit.ints, ([a], [b], [axis])))) for a, b in ends)
        value, size = emit(larger([first, second])), half
    return value


def _by_place(emit: OpBuilder, op: Extreme, value: SSAValue, axis: int) -> SSAValue:
    """Gather at the arg-extreme, with an additional neutral entry for an empty axis."""
    is_largest = isinstance(op, onnx.ReduceMaxOp)
    rank = len(shape_of(value))
    sizes = [emit.sizes(value, [at]) for at in range(rank)]
    sizes[axis] = emit.ints([1])
    least = scalar(emit, -np.inf if is_largest else np.inf, value)
    longer = emit(onnx.ConcatOp([value, emit(onnx.ExpandOp(least, emit.concat(sizes)))], axis=axis))
    place = emit((onnx.ArgMaxOp if is_largest else onnx.ArgMinOp)(longer, axis=axis, keepdims=1))
    return emit(onnx.GatherElementsOp(longer, place, axis=axis))


def _reduced_axes(op: onnx.ReduceMaxOp | onnx.ReduceMinOp | onnx.ReduceProdOp) -> dict[int, Dim] | None:
    """Return the reduced axes with their sizes; None for run-time axes."""
    call = op.call()
    data, given = call.operand(0), call.optional(1)
    listed = [] if given is None else ints(given.dims)
    if listed is None:
        return None
    every = not listed and not call.attribute("noop_with_empty_axes", 0)
    axes = range(data.rank) if every else sorted(axes_of(listed, data.rank))
    return {axis: shape_of(op.data)[axis] for axis in axes}
