"""MaxPool as a maximum over slices."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.support.dtypes import FLOATS, name_of
from dialects.support.shapes import element_type_of
from passes.autodiff.common.primal import Primal
from passes.builder.op_builder import OpBuilder
from passes.builder.values import Builder
from passes.decompositions.missing_kernels.pointwise import scalar
from passes.decompositions.registry import Results


def max_pool(f: Primal, e: Builder) -> Results | None:
    """Return the maximum over the taps, each a strided Slice of the padded data."""
    op, emit = f.op_as(onnx.MaxPoolOp), e.emit
    call = op.call()
    dtype = name_of(element_type_of(op.X))
    is_plain = call.attribute("auto_pad", "NOTSET") == "NOTSET" and not call.attribute("ceil_mode", 0)
    if not is_plain or dtype not in FLOATS or call.attribute("storage_order", 0):
        return None
    seen = _taps(emit, op, op.X, scalar(emit, -np.inf, op.X))
    if op.Indices.first_use is not None:
        return _first_largest(emit, op, seen)
    return [emit(onnx.MaxOp(seen)) if len(seen) > 1 else seen[0], op.Indices]  # unused


def _taps(emit: OpBuilder, op: onnx.MaxPoolOp, data: SSAValue, fill: SSAValue) -> list[SSAValue]:
    """Return the values at each tap of the window, for data of the spatial sizes of X."""
    call = op.call()
    kernel = call.attribute("kernel_shape")
    rank, one = len(kernel), [1] * len(kernel)
    strides, dilations = (call.attribute(name, one) for name in ("strides", "dilations"))
    begin, end = np.reshape(call.attribute("pads", [0] * 2 * rank), (2, rank)).tolist()
    axes, steps = range(2, 2 + rank), emit.ints(strides)
    if any((*begin, *end)):
        data = emit(onnx.PadOp(data, emit.ints([0, 0, *begin, 0, 0, *end]), fill))
    sizes = emit.sizes(data, axes)
    seen: list[SSAValue] = []
    for tap in product(*map(range, kernel)):
        first = [k * d for k, d in zip(tap, dilations, strict=True)]
        last = [(k - 1) * d - f for k, d, f in zip(kernel, dilations, first, strict=True)]
        stop = emit.sub(sizes, emit.ints(last))
        seen.append(emit(onnx.SliceOp(data, emit.ints(first), stop, emit.ints(axes), steps)))
    return seen


def _first_largest(emit: OpBuilder, op: onnx.MaxPoolOp, seen: Sequence[SSAValue]) -> list[SSAValue]:
    """Return the maximum and the flat index of the first, counted from the channel's start."""
    rank = 2 + len(op.call().attribute("kernel_shape"))
    sizes = [emit.sizes(op.X, [axis]) for axis in range(rank)]
    ones = [emit.ints([1])] * (rank - 2)
    within = _iota(emit, [*ones[:1] * 2, *sizes[2:]])
    begins = _iota(emit, [*sizes[:2], *ones], emit.product(sizes[2:]))
    largest, *others = seen
    place, *places = _taps(emit, op, within, emit.constant(np.array(0, np.int64)))
    for value, where in zip(others, places, strict=True):
        is_larger = emit(onnx.GreaterOp(value, largest))
        largest = emit(onnx.WhereOp(is_larger, value, largest))
        place = emit(onnx.WhereOp(is_larger, where, place))
    return [largest, emit(onnx.AddOp(place, begins))]


def _iota(emit: OpBuilder, sizes: Sequence[SSAValue], step: SSAValue | None = None) -> SSAValue:
    """Return a tensor of these sizes with elements 0, step, 2 step, ..."""
    first, one = (emit.constant(np.array(number, np.int64)) for number in (0, 1))
    count = emit(onnx.ReshapeOp(emit.product(sizes), emit.ints([])))
    line = emit(onnx.RangeOp(first, count, one))
    return emit(onnx.ReshapeOp(line if step is None else emit.mul(line, step), emit.concat(sizes)))
