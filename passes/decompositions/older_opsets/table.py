"""Decompositions of op variants that older opsets do not have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.call import axes_of
from dialects.onnx.dims import ints
from dialects.onnx.values import dims_of
from dialects.support.dtypes import FLOATS, of_mlir
from dialects.support.shapes import UnknownRank, element_type_of, has_rank, shape_of, static
from passes.builder.builder import Builder
from passes.decompositions.older_opsets import bitwise_col2im, pools, reductions, scatter_pad_resize

OlderForm = Callable[[Builder, OnnxOp], Sequence[SSAValue] | None]
"""Returns the results of an op by ops of an older opset, or None."""


def _shape(emit: Builder, op: OnnxOp) -> Sequence[SSAValue]:
    """Before opset 15 Shape returns all sizes."""
    assert isinstance(op, onnx.ShapeOp)
    call = op.call()
    start, end = call.attribute("start", 0), call.attribute("end", 2**31 - 1)
    sizes = emit(onnx.ShapeOp(op.data))
    return [emit(onnx.SliceOp(sizes, emit.ints([start]), emit.ints([end]), emit.ints([0])))]


def _split(emit: Builder, op: OnnxOp) -> Sequence[SSAValue] | None:
    """Before opset 18 the number of parts is not an attribute: all but the last are as large as possible."""
    assert isinstance(op, onnx.SplitOp)
    count = len(op.outputs)
    if op.split is not None:
        return None
    axis = op.call().attribute("axis", 0)
    whole = emit.sizes(op.input, [axis]) if has_rank(op.input) else _size(emit, op.input, axis)
    part = emit.floordiv(emit.add(whole, emit.ints([count - 1])), emit.ints([count]))
    last = emit.sub(whole, emit.mul(part, emit.ints([count - 1])))
    split = emit.concat([*[part] * (count - 1), last])
    return emit.all(onnx.SplitOp(op.input, split, axis=axis, results=count))


def _size(emit: Builder, value: SSAValue, axis: int) -> SSAValue:
    return emit.take(emit(onnx.ShapeOp(value)), [axis])


def _pad(emit: Builder, op: OnnxOp) -> Sequence[SSAValue] | None:
    """Before opset 18 Pad covers all axes."""
    assert isinstance(op, onnx.PadOp)
    call = op.call()
    if call.attribute("mode", "constant") == "wrap":
        return scatter_pad_resize.pad_wrap(emit, op)
    given = call.optional(3)
    listed = None if given is None else ints(given.dims)
    if listed is None or not has_rank(op.data):
        return None
    rank, count = len(shape_of(op.data)), len(listed)
    axes = axes_of(listed, rank)
    places = [axes.index(axis) if axis in axes else 2 * count for axis in range(rank)]
    ends = [place + count if place < count else place for place in places]
    pads = emit.take(emit.concat([emit.as_int64(op.pads), emit.ints([0])]), [*places, *ends])
    mode = call.attribute("mode", "constant")
    return [emit(onnx.PadOp(op.data, pads, op.constant_value, mode=mode))]


def _reshape(emit: Builder, op: OnnxOp) -> Sequence[SSAValue] | None:
    """Before opset 14 a 0 always means the size of that axis: require this, or return an empty constant, or
    use a Gather."""
    assert isinstance(op, onnx.ReshapeOp)
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


def _mod(emit: Builder, op: OnnxOp) -> Sequence[SSAValue] | None:
    """Before opset 28 a float remainder has the sign of the dividend: correct it by one divisor."""
    assert isinstance(op, onnx.ModOp)
    dtype = of_mlir(element_type_of(op.A))
    if dtype is None or dtype.name not in FLOATS:
        return None
    rest = emit(onnx.ModOp(op.A, op.B, fmod=1))
    signs = emit(onnx.MulOp(emit(onnx.SignOp(rest)), emit(onnx.SignOp(op.B))))
    is_other = emit(onnx.LessOp(signs, emit.constant(np.zeros((), dtype.numpy))))
    return [emit(onnx.WhereOp(is_other, emit(onnx.AddOp(rest, op.B)), rest))]


def _space_to_depth(emit: Builder, op: OnnxOp) -> Sequence[SSAValue] | None:
    """Before opset 28 blocks are the outer part of the depth."""
    assert isinstance(op, onnx.SpaceToDepthOp)
    if not has_rank(op.input) or op.call().attribute("mode", "DCR") != "CRD":
        return None
    block = emit.ints([op.call().attribute("blocksize")])
    batch, depth, *sizes = (emit.sizes(op.input, [axis]) for axis in range(4))
    rows, columns = (emit.floordiv(size, block) for size in sizes)
    split = emit(onnx.ReshapeOp(op.input, emit.concat([batch, depth, rows, block, columns, block])))
    moved = emit(onnx.TransposeOp(split, perm=[0, 1, 3, 5, 2, 4]))
    deep = emit.product([depth, block, block])
    return [emit(onnx.ReshapeOp(moved, emit.concat([batch, deep, rows, columns])))]


def _trilu(emit: Builder, op: OnnxOp) -> Sequence[SSAValue] | None:
    """Trilu is new in opset 14."""
    assert isinstance(op, onnx.TriluOp)
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


OLDER_FORMS: Mapping[type[OnnxOp], OlderForm] = {
    onnx.AddOp: reductions.arithmetic,
    onnx.AveragePoolOp: pools.average_pool,
    onnx.BitwiseAndOp: bitwise_col2im.bitwise,
    onnx.BitwiseNotOp: reductions.bitwise_not,
    onnx.BitwiseOrOp: bitwise_col2im.bitwise,
    onnx.BitwiseXorOp: bitwise_col2im.bitwise,
    onnx.Col2ImOp: bitwise_col2im.col2im,
    onnx.DivOp: reductions.arithmetic,
    onnx.LpPoolOp: pools.lp_pool,
    onnx.ModOp: _mod,
    onnx.MulOp: reductions.arithmetic,
    onnx.PadOp: _pad,
    onnx.ReduceMaxOp: reductions.extreme,
    onnx.ReduceMeanOp: reductions.reduction,
    onnx.ReduceMinOp: reductions.extreme,
    onnx.ReduceProdOp: reductions.reduction,
    onnx.ReluOp: reductions.relu,
    onnx.ReshapeOp: _reshape,
    onnx.ResizeOp: scatter_pad_resize.resize,
    onnx.ScatterElementsOp: scatter_pad_resize.scatter_elements,
    onnx.ScatterNDOp: scatter_pad_resize.scatter_nd,
    onnx.ShapeOp: _shape,
    onnx.SpaceToDepthOp: _space_to_depth,
    onnx.SplitOp: _split,
    onnx.SubOp: reductions.arithmetic,
    onnx.TriluOp: _trilu,
}


def write_older_form(emit: Builder, op: OnnxOp) -> bool:
    """Emit the older form of an op; return whether it has one."""
    write = OLDER_FORMS.get(type(op))
    try:
        return write is not None and write(emit, op) is not None
    except UnknownRank:
        return False
