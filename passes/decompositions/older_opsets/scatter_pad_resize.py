"""Decompositions of reducing scatters, wrapping Pads and partial Resizes for older opsets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.call import axes_of, axis_of
from dialects.onnx.dims import ints
from dialects.onnx.values import constant_of
from dialects.support.dtypes import of_mlir
from dialects.support.shapes import element_type_of, has_rank, shape_of, static_shape
from passes.autodiff.common.primal import Primal
from passes.builder.op_builder import OpBuilder
from passes.builder.values import Builder
from passes.decompositions.missing_kernels import resize_by_matrix
from passes.decompositions.missing_kernels.scatter_nd_by_matrix import scatter_or_reduce
from passes.decompositions.registry import Results

Merge = Callable[[OpBuilder, SSAValue, SSAValue], SSAValue]

MERGES: dict[str, Merge] = {
    "add": lambda emit, old, new: emit(onnx.AddOp(old, new)),
    "mul": lambda emit, old, new: emit(onnx.MulOp(old, new)),
    "max": lambda emit, old, new: emit(onnx.MaxOp([old, new])),
    "min": lambda emit, old, new: emit(onnx.MinOp([old, new])),
}

MOST_ROUNDS = 16
"""Limit on updates of one element: each takes a Gather and a scatter."""


def scatter_nd(f: Primal, e: Builder) -> Results | None:
    """Before opset 16 there is no `add` and `mul`, before 18 no `max` and `min`. With constant indices,
    colliding updates are applied in turn; run-time indices use a matrix."""
    op, emit = f.op_as(onnx.ScatterNDOp), e.emit
    how, indices = op.call().attribute("reduction", "none"), constant_of(op.indices)
    sizes = static_shape(op.data) if has_rank(op.data) else None
    if indices is None or sizes is None:
        return scatter_or_reduce(f, e)
    depth, columns = indices.shape[-1], indices.reshape(-1, indices.shape[-1])
    bounds = np.array(sizes[:depth], np.int64)
    if not columns.size or (columns < -bounds).any() or (columns >= bounds).any():
        return None
    strides = np.append(np.cumprod(bounds[:0:-1])[::-1], 1)
    rounds = _rounds((columns % bounds) @ strides)
    if rounds is None:
        return None
    tail = [*sizes[depth:]]
    updates = emit(onnx.ReshapeOp(op.updates, emit.ints([len(columns), *tail])))
    found: SSAValue = op.data
    for rows in rounds:
        places = emit.constant(columns[rows])
        new = emit(onnx.GatherOp(updates, emit.ints(rows), axis=0))
        merged = MERGES[how](emit, emit(onnx.GatherNDOp(found, places)), new)
        found = emit(onnx.ScatterNDOp(found, places, merged))
    return [found]


def scatter_elements(f: Primal, e: Builder) -> Results | None:
    """Lower to ScatterND, element by element; needs a static number of indices."""
    op, emit = f.op_as(onnx.ScatterElementsOp), e.emit
    call, shape = op.call(), static_shape(op.indices) if has_rank(op.indices) else None
    how = call.attribute("reduction", "none")
    if shape is None or how == "none" or not has_rank(op.data):
        return None
    axis, rank = axis_of(call.attribute("axis", 0), len(shape)), len(shape)
    grid = np.indices(shape).reshape(rank, -1).T.copy()
    known = constant_of(op.indices)
    if known is not None:
        grid[:, axis] = known.reshape(-1)
        places: SSAValue = emit.constant(grid)
    else:
        column = emit(onnx.ReshapeOp(emit.as_int64(op.indices), emit.ints([-1, 1])))
        parts = [emit.constant(grid[:, :axis]), column, emit.constant(grid[:, axis + 1 :])]
        places = emit(onnx.ConcatOp([part for part in parts if shape_of(part)[1]], axis=1))
    flat = emit(onnx.ReshapeOp(op.updates, emit.ints([-1])))
    return [emit(onnx.ScatterNDOp(op.data, places, flat, reduction=how))]


def _rounds(places: np.ndarray) -> list[list[int]] | None:
    """Partition updates into lists without collisions; None for too many lists."""
    rounds: list[list[int]] = []
    seen: dict[int, int] = {}
    for number, place in enumerate(places.tolist()):
        turn = seen[place] = seen.get(place, -1) + 1
        if turn >= MOST_ROUNDS:
            return None
        if turn == len(rounds):
            rounds.append([])
        rounds[turn].append(number)
    return rounds


def reshape_by_gather(emit: OpBuilder, op: onnx.ReshapeOp, rank: int) -> Sequence[SSAValue]:
    """Reshape to run-time sizes that may be 0, which older Reshapes misread, by a Gather of flat indices."""
    zero, one = (emit.constant(np.array(value, np.int64)) for value in (0, 1))
    sizes, count = emit.as_int64(op.shape), emit(onnx.SizeOp(op.data))
    is_open = emit(onnx.LessOp(sizes, zero))
    known = emit(onnx.ReduceProdOp(emit(onnx.WhereOp(is_open, one, sizes)), keepdims=1))
    rest = emit.div(emit(onnx.UnsqueezeOp(count, emit.ints([0]))), emit.max(known, 1))
    sizes = emit(onnx.WhereOp(is_open, rest, sizes))
    numbers: SSAValue = zero
    for axis in range(rank):
        size = emit(onnx.SqueezeOp(emit.take(sizes, [axis]), emit.ints([0])))
        line = emit(onnx.RangeOp(zero, size, one))
        rows = emit(onnx.UnsqueezeOp(emit(onnx.MulOp(numbers, size)), emit.ints([-1])))
        numbers = emit(onnx.AddOp(rows, line))
    return [emit(onnx.GatherOp(emit(onnx.ReshapeOp(op.data, emit.ints([-1]))), numbers, axis=0))]


def pad_wrap(emit: OpBuilder, op: onnx.PadOp) -> Sequence[SSAValue] | None:
    """Before opset 19 Pad has no `wrap`: crop by negative pads, then Gather along each axis."""
    call = op.call()
    pads, given = ints(call.operand(1).dims), call.optional(3)
    if not has_rank(op.data):
        return None
    rank = len(shape_of(op.data))
    listed = list(range(rank)) if given is None else ints(given.dims)
    if listed is None:
        return None
    found = op.data
    one, columns = emit.constant(np.array(1, np.int64)), emit.as_int64(op.pads)
    for i, axis in enumerate(axes_of(listed, rank)):
        if pads is not None and not pads[i] and not pads[i + len(listed)]:
            continue
        begin, end = (emit.take(columns, [place]) for place in (i, i + len(listed)))
        before, after = emit.max(begin, 0), emit.max(end, 0)
        cut = emit.sub(before, begin)
        size = emit.sub(emit.add(emit.sizes(op.data, [axis]), begin), emit.sub(before, emit.sub(end, after)))
        first, stop = emit.sub(emit.ints([0]), before), emit.add(size, after)
        ends = [emit(onnx.SqueezeOp(bound, emit.ints([0]))) for bound in (first, stop)]
        places = emit(onnx.RangeOp(ends[0], ends[1], one))
        within = emit.add(emit(onnx.ModOp(places, size)), cut)
        found = emit(onnx.GatherOp(found, within, axis=axis))
    return [found]


def resize(f: Primal, e: Builder) -> Results | None:
    """Before opset 18 Resize covers all axes and has no aspect-ratio policy."""
    op, emit = f.op_as(onnx.ResizeOp), e.emit
    given: dict[str, Any] = {**op.onnx_attributes()}
    if _is_newer(op):
        return resize_by_matrix.by_matrix(f, e)
    axes, policy = given.pop("axes", None), given.pop("keep_aspect_ratio_policy", "stretch")
    if not has_rank(op.X) or (axes is None and policy == "stretch"):
        return None
    rank = len(shape_of(op.X))
    listed = axes_of(list(range(rank)) if axes is None else axes, rank)
    order = [listed.index(axis) if axis in listed else len(listed) + axis for axis in range(rank)]
    scales, sizes = op.scales, op.sizes
    if policy != "stretch" and sizes is not None:
        factors = _policy_scales(op, listed, policy)
        if factors is None:
            return resize_by_matrix.by_matrix(f, e)
        scales, sizes = emit.constant(factors), None
    elif scales is not None:
        scales = emit.take(emit.concat([scales, emit.constant(np.ones(rank, np.float32))]), order)
    if sizes is not None:
        sizes = emit.take(emit.concat([sizes, emit.sizes(op.X, range(rank))]), order)
    roi = None if op.roi is None or shape_of(op.roi) == (0,) else _whole_roi(emit, op.roi, order, len(listed))
    return [emit(onnx.ResizeOp(op.X, roi, scales, sizes, **given))]


def _is_newer(op: onnx.ResizeOp) -> bool:
    """Return whether a Resize needs opset 18 (antialias) or 19 (half_pixel_symmetric)."""
    given = op.call().attribute
    return (
        bool(given("antialias", 0))
        or given("coordinate_transformation_mode", "half_pixel") == "half_pixel_symmetric"
    )


def _policy_scales(op: onnx.ResizeOp, axes: Sequence[int], policy: object) -> np.ndarray | None:
    """Return the scale of a policy for static sizes; None if an older Resize would round sizes
    differently."""
    data, result = static_shape(op.X), static_shape(op.Y)
    wanted = ints(op.call().operand(3).dims)
    if data is None or result is None or wanted is None or not all(data):
        return None
    choose = min if policy == "not_larger" else max
    scale = choose(size / data[axis] for size, axis in zip(wanted, axes, strict=True))
    factors = np.array([scale if axis in axes else 1 for axis in range(len(data))], np.float32)
    return factors if tuple(int(x) for x in np.array(data, np.float32) * factors) == tuple(result) else None


def _whole_roi(emit: OpBuilder, roi: SSAValue, order: Sequence[int], count: int) -> SSAValue:
    """Extend a region of some axes to all; `order` has an index in the region, or `count` plus the axis."""
    rank, dtype = len(order), of_mlir(element_type_of(roi))
    assert dtype is not None
    ends = emit.constant(np.repeat([0, 1], rank).astype(dtype.numpy))
    begins = [place if place < count else place + count for place in order]
    stops = [place + count if place < count else place + count + rank for place in order]
    return emit.take(emit.concat([roi, ends]), [*begins, *stops])
