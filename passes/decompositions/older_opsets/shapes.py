"""Decompositions of Shape, Split, Pad, Reshape, SpaceToDepth and Trilu for older opsets."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.values import constant_of, dims_of
from dialects.support.dtypes import of_mlir
from dialects.support.shapes import element_type_of, has_rank, shape_of, static
from passes.autodiff.common.primal import Primal
from passes.builder.op_builder import OpBuilder
from passes.builder.values import Builder
from passes.decompositions.older_opsets import scatter_pad_resize
from passes.decompositions.registry import Results
from passes.simplify.pads import pad_all_axes


def shape(f: Primal, e: Builder) -> Results:
    """Before opset 15 Shape returns all sizes."""
    op, emit = f.op_as(onnx.ShapeOp), e.emit
    call = op.call()
    start, end = call.attribute("start", 0), call.attribute("end", 2**31 - 1)
    sizes = emit(onnx.ShapeOp(op.data))
    return [emit(onnx.SliceOp(sizes, emit.ints([start]), emit.ints([end]), emit.ints([0])))]


def split(f: Primal, e: Builder) -> Results | None:
    """Before opset 18 the number of parts is not an attribute: all but the last are as large as possible."""
    op, emit = f.op_as(onnx.SplitOp), e.emit
    count = len(op.outputs)
    if op.split is not None:
        return None
    axis = op.call().attribute("axis", 0)
    whole = emit.sizes(op.input, [axis]) if has_rank(op.input) else _size(emit, op.input, axis)
    part = emit.floordiv(emit.add(whole, emit.ints([count - 1])), emit.ints([count]))
    last = emit.sub(whole, emit.mul(part, emit.ints([count - 1])))
    split = emit.concat([*[part] * (count - 1), last])
    return emit.all(onnx.SplitOp(op.input, split, axis=axis, results=count))


def _size(emit: OpBuilder, value: SSAValue, axis: int) -> SSAValue:
    return emit.take(emit(onnx.ShapeOp(value)), [axis])


def pad(f: Primal, e: Builder) -> Results | None:
    """Before opset 18 Pad covers all axes."""
    op, emit = f.op_as(onnx.PadOp), e.emit
    if op.axes is not None and constant_of(op.axes) is None and has_rank(op.data):
        pads, mode = _pads_of_all_axes(emit, op, op.axes), op.call().attribute("mode", "constant")
        return [emit(onnx.PadOp(op.data, pads, op.constant_value, mode=mode))]
    if op.call().attribute("mode", "constant") == "wrap":
        return scatter_pad_resize.pad_wrap(emit, op)
    value = pad_all_axes(emit, op)
    return None if value is None else [value]


def _pads_of_all_axes(emit: OpBuilder, op: onnx.PadOp, axes: SSAValue) -> SSAValue:
    """Return the pads of each axis, given those of run-time axes."""
    rank = len(shape_of(op.data))
    begin = emit(onnx.ModOp(emit.as_int64(axes), emit.ints([rank])))
    places = emit.concat([begin, emit(onnx.AddOp(begin, emit.ints([rank])))])
    return emit(onnx.ScatterElementsOp(emit.ints([0] * 2 * rank), places, emit.as_int64(op.pads)))


def reshape(f: Primal, e: Builder) -> Results | None:
    """Before opset 14 a 0 always means the size of that axis: require this, or return an empty constant, or
    use a Gather."""
    op, emit = f.op_as(onnx.ReshapeOp), e.emit
    wanted = dims_of(op.shape)
    if wanted is None or not has_rank(op.data):
        return None
    data = shape_of(op.data)
    dtype = of_mlir(element_type_of(op.data))
    sizes = static(wanted)
    if 0 in data and sizes is not None and 0 in sizes and dtype is not None:
        return [emit.constant(np.empty(sizes, dtype.numpy))]
    for axis, dim in enumerate(wanted):
        is_own = axis < len(data) and dim is not None and dim == data[axis]
        if not is_own and (not isinstance(dim, int) or dim == 0):
            return scatter_pad_resize.reshape_by_gather(emit, op, len(wanted))
    return [emit(onnx.ReshapeOp(op.data, op.shape))]


def space_to_depth(f: Primal, e: Builder) -> Results | None:
    """Before opset 28 blocks are the outer part of the depth."""
    op, emit = f.op_as(onnx.SpaceToDepthOp), e.emit
    if not has_rank(op.input) or op.call().attribute("mode", "DCR") != "CRD":
        return None
    block = emit.ints([op.call().attribute("blocksize")])
    batch, depth, *sizes = (emit.sizes(op.input, [axis]) for axis in range(4))
    rows, columns = (emit.floordiv(size, block) for size in sizes)
    split = emit(onnx.ReshapeOp(op.input, emit.concat([batch, depth, rows, block, columns, block])))
    moved = emit(onnx.TransposeOp(split, perm=[0, 1, 3, 5, 2, 4]))
    deep = emit.product([depth, block, block])
    return [emit(onnx.ReshapeOp(moved, emit.concat([batch, deep, rows, columns])))]


def trilu(f: Primal, e: Builder) -> Results | None:
    """Trilu is new in opset 14."""
    op, emit = f.op_as(onnx.TriluOp), e.emit
    dtype = of_mlir(element_type_of(op.input))
    if dtype is None or not has_rank(op.input):
        return None
    rank, zero = len(shape_of(op.input)), emit.constant(np.array(0))
    one, no_axis = emit.constant(np.array(1)), emit.ints([0])
    sizes = (emit(onnx.SqueezeOp(emit.sizes(op.input, [rank - i]), no_axis)) for i in (2, 1))
    rows, columns = (emit(onnx.RangeOp(zero, size, one)) for size in sizes)
    rows = rows if op.k is None else emit(onnx.AddOp(rows, op.k))
    rows = emit(onnx.UnsqueezeOp(rows, emit.ints([1])))
    compare = onnx.LessOrEqualOp if op.call().attribute("upper", 1) else onnx.GreaterOrEqualOp
    stays = emit(compare(rows, columns))
    if dtype.name == "boolean":
        return [emit(onnx.AndOp(op.input, stays))]
    return [emit(onnx.WhereOp(stays, op.input, emit.constant(np.zeros((), dtype.numpy))))]
