"""VJP rules of reductions, CumSum and CumProd."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from dialects.onnx import ops as onnx
from dialects.onnx.call import axes_of, axis_of
from dialects.onnx.values import constant_of
from dialects.support.dtypes import known_dtype
from passes.autodiff.common.dynamic_axes import AxisView, ReducedAxes, reshape_as
from passes.autodiff.common.gather_adjoint import iota
from passes.autodiff.common.primal import ZERO, Gradient, Primal, Rule
from passes.autodiff.common.slice_adjoint import is_known, size_of, vector
from passes.builder.values import Builder, Value

FEW = 4
"""Up to so many factors, products use rotations, which are fewer ops than halving."""


def axes_in(f: Primal) -> Sequence[int] | None:
    """Return the reduced axes; None if they are dynamic."""
    given, rank = f.operand(1), f.x.rank
    if given is None or given.shape == (0,):
        return [] if f.value("noop_with_empty_axes", 0) else range(rank)
    values = constant_of(given.value)
    return None if values is None else sorted(axes_of([int(axis) for axis in values], rank))


def restore_axes(value: Value, f: Primal) -> Value:
    """Restore the reduced axes of a result or its cotangent with size 1."""
    axes, rank = axes_in(f), f.x.rank
    if f.value("keepdims", 1) or value.rank == rank:
        return value
    if axes is not None:
        return value.unsqueeze(axes)
    given = f.operand(1)
    assert given is not None
    if given.shape == (rank - value.rank,):
        return value.apply(onnx.UnsqueezeOp, given)
    return value.apply(onnx.ReshapeOp, _reduced_axes(f).keepdims_shape(), allowzero=1)


def _reduced_axes(f: Primal) -> ReducedAxes:
    axes = f.operand(1)
    assert axes is not None
    return ReducedAxes(f.x, axes, none_is_all=not f.value("noop_with_empty_axes", 0))


def broadcast_back(value: Value, f: Primal) -> Value:
    """Broadcast a result to the operand's shape."""
    return restore_axes(value, f).apply(onnx.ExpandOp, f.e.shape(f.x)).assume_shape(f.x.shape)


def sum_keepdims(value: Value, f: Primal) -> Value:
    """Sum over the reduced axes, with keepdims."""
    noop = f.value("noop_with_empty_axes", 0)
    return value.apply(onnx.ReduceSumOp, f.operand(1), keepdims=1, noop_with_empty_axes=noop)


def by_repeating(cotangent: Callable[[Primal, Value], Value]) -> Rule:
    """Return the rule of a reduction whose derivative is the same for all elements."""

    def rule(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
        return (broadcast_back(cotangent(f, g[0]), f), ZERO)

    return rule


def by_factor(factor: Callable[[Primal], Value]) -> Rule:
    """Return the rule of a reduction with an elementwise factor."""

    def rule(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
        return (restore_axes(g[0], f) * factor(f), ZERO)

    return rule


def _mean(f: Primal, g: Value) -> Value:
    axes = axes_in(f)
    sizes = [None] if axes is None else [f.x.shape[axis] for axis in axes]
    known = [size for size in sizes if isinstance(size, int)]
    if len(known) == len(sizes):
        return g * (1 / max(math.prod(known), 1))
    return g / _count(f, axes).cast(g.dtype)


def _count(f: Primal, axes: Sequence[int] | None) -> Value:
    """Return the number of elements reduced to one, at least 1, as an integer scalar."""
    sizes = f.x.apply(onnx.ShapeOp)
    if axes is None:
        taken = _reduced_axes(f).mask().where(sizes, f.e.ints([1]))
    else:
        taken = sizes.apply(onnx.GatherOp, f.e.ints(axes), axis=0)
    return taken.apply(onnx.ReduceProdOp, keepdims=0).at_least(1)


def extremum(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """Elements that are equal to the result share the cotangent."""
    mask = f.x.equals(restore_axes(f.y, f))
    count = sum_keepdims(mask.cast(f.x.dtype), f)
    if _may_be_empty(f):
        found = restore_axes(g[0], f) * (mask.cast(f.x.dtype) / count)
        return (mask.where(found, 0) if e.strict_ieee else found, ZERO)
    share = restore_axes(g[0], f) / count
    if e.strict_ieee:
        return (mask.where(share, 0), ZERO)
    return (share * mask.cast(f.x.dtype), ZERO)


def log_sum(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of ReduceLogSum: the cotangent over the sum."""
    if _may_be_empty(f):
        return (broadcast_back(g[0], f) / restore_axes(f.y.exp(), f), ZERO)
    return (broadcast_back(g[0] / f.y.exp(), f), ZERO)


def _may_be_empty(f: Primal) -> bool:
    """Return whether a result may be that of no elements, an infinity.

    Such a rule divides by 0 in no element of the gradient, but would in its transpose, forward mode: there it
    divides each element before the sum.
    """
    axes = axes_in(f)
    sizes = [0] if axes is None else [f.x.shape[axis] for axis in axes]
    return not all(isinstance(size, int) and size for size in sizes)


def product(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of ReduceProd: the product of the other elements, exact at zeros."""
    axes = axes_in(f)
    if axes is None:
        return (restore_axes(g[0], f) * _others_axis_by_axis(f).assume_shape(f.x.shape), ZERO)
    sizes = [f.x.shape[axis] for axis in axes]
    known = [size for size in sizes if isinstance(size, int)]
    static = len(known) == len(sizes)
    if not axes or (static and math.prod(known) < 2):
        return (broadcast_back(g[0], f), ZERO)
    if len(axes) == 1 and static and math.prod(known) <= FEW:
        return (restore_axes(g[0], f) * _others_by_rotation(f.x, axes[0], math.prod(known)), ZERO)
    rest = [axis for axis in range(f.x.rank) if axis not in axes]
    perm = [*rest, *axes]
    moved = f.x.transpose(perm)
    rows = _merge_last_axes(moved, len(axes)) if len(axes) > 1 else moved
    others = _others(rows, math.prod(known)) if static else _others_by_mask(rows)
    back = reshape_as(others, moved) if len(axes) > 1 else others
    back = back.transpose([perm.index(axis) for axis in range(f.x.rank)])
    return (restore_axes(g[0], f) * back.assume_shape(f.x.shape), ZERO)


def _merge_last_axes(x: Value, count: int) -> Value:
    """Merge the last `count` axes. The batch may be empty."""
    e, rest = x.e, x.rank - count
    sizes = [size_of(x, axis) for axis in range(x.rank)]
    known = math.prod(size for size in sizes[rest:] if isinstance(size, int))
    length: int | Value = known
    for size in sizes[rest:]:
        if isinstance(size, Value):
            length = size * (length if isinstance(length, Value) else e.ints([length]))
    target = [*sizes[:rest], length]
    return x.apply(onnx.ReshapeOp, vector(x, target), allowzero=None if is_known(target) else 1)


def _others_axis_by_axis(f: Primal) -> Value:
    """Return the products of the other elements for run-time axes: those along one axis, times the factors of
    the product along it."""
    e, steps = f.e, _reduced_axes(f).steps()
    factors: list[Value] = []
    x = f.x
    for axis in range(f.x.rank):
        rows = steps.split(x, axis)
        factors.append(steps.merge_axis(_others_by_mask(rows), axis))
        x = steps.back(rows.apply(onnx.ReduceProdOp, e.ints([-1]), keepdims=0), axis)
    found = e.scalar(1, f.x)
    for factor in reversed(factors):
        found = factor * found
    return found


def _others_by_rotation(x: Value, axis: int, count: int) -> Value:
    """`_others` for few elements along an axis: the product of rotations of x by 1, 2, ... elements."""
    turned: Value | None = None
    for places in range(1, count):
        part = x.apply(onnx.GatherOp, x.e.ints(np.roll(range(count), -places).tolist()), axis=axis)
        turned = part if turned is None else turned * part
    assert turned is not None
    return turned


def _others(x: Value, count: int) -> Value:
    """Return, for each of the `count` elements of the last axis, the product of the others.

    Recursively: each half times the other, then the outer factors. No division: exact at zeros, to any order.
    """
    levels, sizes = [x], [count]
    while sizes[-1] > 2:
        last, size = levels[-1], sizes[-1]
        half = size // 2
        low, high = _slice_last(last, 0, half), _slice_last(last, half, 2 * half)
        joined = [low * high, *([_slice_last(last, 2 * half, size)] if size % 2 else [])]
        levels.append(_concat_last(joined))
        sizes.append(half + size % 2)
    found: Value | None = None
    for level, size in zip(reversed(levels), reversed(sizes), strict=True):
        half = size // 2
        low, high = _slice_last(level, 0, half), _slice_last(level, half, 2 * half)
        if found is None:
            parts = [high, low]
        else:
            outer = _slice_last(found, 0, half)
            parts = [high * outer, low * outer]
            parts += [_slice_last(found, half, half + 1)] if size % 2 else []
        found = _concat_last(parts)
    assert found is not None
    return found


def _slice_last(x: Value, start: int, end: int) -> Value:
    """Slice [start, end) of the last axis."""
    e = x.e
    return x.apply(onnx.SliceOp, e.ints([start]), e.ints([end]), e.ints([x.rank - 1]))


def _concat_last(parts: Sequence[Value]) -> Value:
    """Concatenate along the last axis."""
    if len(parts) == 1:
        return parts[0]
    e = parts[0].e
    return e.concat(parts, parts[0].rank - 1)


def _others_by_mask(x: Value) -> Value:
    """`_others` for a dynamic count: the product of rows in each of which one element is 1.

    Takes count times the memory of x; exact at zeros for derivatives of any order.
    """
    emit = x.e.emit
    last, zero, one = (emit.constant(np.array(value, np.int64)) for value in (-1, 0, 1))
    count = emit(onnx.GatherOp(emit(onnx.ShapeOp(x.value)), last, axis=0))
    index = x.e(emit(onnx.RangeOp(zero, count, one)))
    own = index.unsqueeze([1]).equals(index)
    rows = own.where(x.e.scalar(1, x), x.unsqueeze([-2]))
    return rows.apply(onnx.ReduceProdOp, x.e.ints([-1]), keepdims=0)


def _norm(f: Primal) -> Value:
    """Return x / y; 0 where the norm is 0, for all derivatives."""
    y = restore_axes(f.y, f)
    return f.x / y.equals(0).where(f.e.fill_like(1, y), y)


def _softmax(f: Primal) -> Value:
    """Return exp(x - y); 0 for a result of -inf."""
    dtype = known_dtype(f.x.dtype)
    lowest = {"f16": -6e4, "bf16": -3e38, "f32": -3e38, "f64": -1e308}[dtype.name]
    return (f.x - restore_axes(f.y, f).at_least(lowest)).exp()


def cumulative_sum(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of CumSum: the sum from the other end."""
    axis = f.operand(1)
    assert axis is not None
    reverse, exclusive = f.value("reverse", 0), f.value("exclusive", 0)
    return (g[0].apply(onnx.CumSumOp, axis, reverse=1 - reverse, exclusive=exclusive), ZERO)


def cumulative_product(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of CumProd: the products that contain an element, with 1 for it; exact at zeros to any order. Takes
    n times the memory of x, n the length of the axis."""
    given = f.operand(1)
    assert given is not None
    known = constant_of(given.value)
    if known is None:
        view = AxisView(given, f.x.rank)
        return (reshape_as(_in_products(view.of(f.x), view.of(g[0]), 1, f), f.x), ZERO)
    return (_in_products(f.x, g[0], axis_of(int(known.reshape(())), f.x.rank), f), ZERO)


def _in_products(x: Value, g: Value, axis: int, f: Primal) -> Value:
    """Return the gradient by x of the cumulative products along an axis."""
    e, reverse, exclusive = f.e, f.value("reverse", 0), f.value("exclusive", 0)
    perm = [*(i for i in range(x.rank) if i != axis), axis]
    back = [perm.index(i) for i in range(x.rank)]
    x, g = (value.transpose(perm) for value in (x, g))
    index = iota(size_of(x, x.rank - 1), x)
    own = index.unsqueeze([1])
    row = e.ints([-2])
    rows = own.equals(index).where(e.scalar(1, x), x.apply(onnx.UnsqueezeOp, row))
    last = e(e.emit.constant(np.array(-1, np.int64)))
    products = rows.apply(onnx.CumProdOp, last, reverse=reverse, exclusive=exclusive)
    later = (own > index if exclusive else own >= index) if reverse else own <= index
    later = own < index if exclusive and not reverse else later
    parts = e.keep(products, later) * g.apply(onnx.UnsqueezeOp, row)
    found = parts.apply(onnx.ReduceSumOp, e.ints([-1]), keepdims=0)
    return found.transpose(back)


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "CumProd": cumulative_product,
        "CumSum": cumulative_sum,
        "ReduceL1": by_factor(lambda f: f.x.sign()),
        "ReduceL2": by_factor(_norm),
        "ReduceLogSum": log_sum,
        "ReduceLogSumExp": by_factor(_softmax),
        "ReduceMax": extremum,
        "ReduceMean": by_repeating(_mean),
        "ReduceMin": extremum,
        "ReduceProd": product,
        "ReduceSum": by_repeating(lambda f, g: g),
        "ReduceSumSquare": by_factor(lambda f: f.x * 2),
    }
)
"""ONNX op -> its rule."""
