"""VJP rules of ops that gather and scatter elements by index tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from dialects.onnx import ops as onnx
from dialects.onnx.call import axis_of
from passes.autodiff.common.gather_adjoint import iota, scatter_back, with_batch
from passes.autodiff.common.label_scatter import LabelScatter
from passes.autodiff.common.primal import ZERO, Gradient, Primal, Rule, refusal
from passes.autodiff.common.scattered_products import others_along, others_of_tuples
from passes.autodiff.common.slice_adjoint import size_of, vector
from passes.autodiff.rules.shape import reshape_as
from passes.builder.values import Builder, Value


def gather(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    axis = axis_of(f.value("axis", 0), f.x.rank)
    return (scatter_back(g[0], _indices(f), axis, size_of(f.x, axis)), ZERO)


def _indices(f: Primal, index: int = 1) -> Value:
    found = f.operand(index)
    assert found is not None
    return found.as_int64()


def gather_elements(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    indices, axis = _indices(f), axis_of(f.value("axis", 0), f.x.rank)
    if indices.shape[axis] == 1:  # no two indices are equal; reductions need opset 16
        return (LabelScatter(indices, g[0], axis).dense(f.x), ZERO)
    zeros = e.fill_like(0, f.x)
    return (zeros.apply(onnx.ScatterElementsOp, indices, g[0], axis=axis, reduction="add"), ZERO)


def gather_nd(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    indices, batch = _indices(f), f.value("batch_dims", 0)
    if batch:
        indices = with_batch(indices, [size_of(f.x, i) for i in range(batch)])
    return (e.fill_like(0, f.x).apply(onnx.ScatterNDOp, indices, g[0], reduction="add"), ZERO)


def scatter_elements(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    axis = f.value("axis", 0)

    def taken(x: Value, indices: Value) -> Value:
        return x.apply(onnx.GatherElementsOp, indices, axis=axis)

    def put(x: Value, indices: Value, updates: Value, how: str) -> Value:
        return x.apply(onnx.ScatterElementsOp, indices, updates, axis=axis, reduction=how)

    def others(updates: Value, indices: Value) -> Value:
        return others_along(updates, indices, axis_of(axis, f.x.rank), f.x)

    return _scatter_vjp(f, g[0], _Scatter(taken, put, others))


def scatter_nd(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    def taken(x: Value, indices: Value) -> Value:
        return x.apply(onnx.GatherNDOp, indices)

    def put(x: Value, indices: Value, updates: Value, how: str) -> Value:
        return x.apply(onnx.ScatterNDOp, indices, updates, reduction=how)

    def others(updates: Value, indices: Value) -> Value:
        return others_of_tuples(updates, indices, f.x)

    return _scatter_vjp(f, g[0], _Scatter(taken, put, others))


@dataclass(frozen=True)
class _Scatter:
    """Read and write operations of ScatterElements or ScatterND.

    `taken(x, indices)` gathers, `put(x, indices, updates, how)` scatters, `others(updates, indices)` returns
    for each update the product of the others with the same index.
    """

    taken: Callable[[Value, Value], Value]
    put: Callable[[Value, Value, Value, str], Value]
    others: Callable[[Value, Value], Value]


def _scatter_vjp(f: Primal, g: Value, scatter: _Scatter) -> Sequence[Gradient]:
    """VJP of a scatter for each reduction. `none` is undefined for repeated indices; equal candidates of
    `max` and `min` share the cotangent."""
    e, indices, updates, how = f.e, _indices(f), f.operand(2), f.value("reduction", "none")
    assert updates is not None
    taken, put = scatter.taken, scatter.put
    match how:
        case "add":
            return (g, ZERO, taken(g, indices).assume_shape(updates.shape))
        case "none":
            cleared = put(g, indices, e.fill_like(0, updates), "none")
            return (cleared, ZERO, taken(g, indices).assume_shape(updates.shape))
        case "mul":
            factors = put(e.fill_like(1, f.x), indices, updates, "mul")
            reached = taken(g * f.x, indices).assume_shape(updates.shape)
            return (g * factors, ZERO, reached * scatter.others(updates, indices) if f.wants(2) else ZERO)
        case "max" | "min":
            kept = f.x.equals(f.y).cast(g.dtype)
            won = updates.equals(taken(f.y, indices).assume_shape(updates.shape)).cast(g.dtype)
            share = g / put(kept, indices, won, "add")
            return (share * kept, ZERO, taken(share, indices).assume_shape(updates.shape) * won)
        case _:
            raise refusal("reduction", given=how, expected="none, add, mul, max or min")


def tensor_scatter(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of TensorScatter: overwritten elements of the past get 0."""
    update, starts = f.operand(1), f.operand(2)
    assert update is not None
    axis = axis_of(f.value("axis", -2), f.x.rank)
    places = iota(size_of(update, axis), update).unsqueeze([0])
    if starts is not None:  # ONNX's inference mistakes a sum with a vector for a sum of shapes
        places = starts.as_int64().unsqueeze([1]) + places
    if f.value("mode", "linear") == "circular":
        places = places.apply(onnx.ModOp, vector(f.x, [size_of(f.x, axis)]))
    ones = [i for i in range(1, f.x.rank) if i != axis]
    places = places.unsqueeze(ones) if ones else places
    places = places.apply(onnx.ExpandOp, e.shape(update)).assume_shape(update.shape)
    before = g[0].apply(onnx.ScatterElementsOp, places, e.fill_like(0, update), axis=axis)
    return (before, g[0].apply(onnx.GatherElementsOp, places, axis=axis), ZERO)


def top_k(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of TopK: a scatter without collisions."""
    places, axis = f.results[1], f.value("axis", -1)
    assert places is not None
    return (e.fill_like(0, f.x).apply(onnx.ScatterElementsOp, places, g[0], axis=axis), ZERO)


def compress(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    axis, condition = f.value("axis"), f.operand(1)
    assert condition is not None
    places = condition.apply(onnx.NonZeroOp).squeeze([0])
    if axis is not None:
        axis = axis_of(axis, f.x.rank)
        return (scatter_back(g[0], places, axis, size_of(f.x, axis)), ZERO)
    return (reshape_as(scatter_back(g[0], places, 0, _count(f.x)), f.x), ZERO)


def one_hot(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of OneHot with respect to the two values."""
    depth, values = f.operand(1), f.operand(2)
    assert depth is not None
    assert values is not None
    numbers = _pair(e.scalar(0, g[0]), e.scalar(1, g[0]))
    mask = f.x.apply(onnx.OneHotOp, depth, numbers, axis=f.value("axis", -1)).assume_shape(g[0].shape)
    on = (g[0] * mask).apply(onnx.ReduceSumOp, keepdims=0)
    off = g[0].apply(onnx.ReduceSumOp, keepdims=0) - on
    return (ZERO, ZERO, _pair(off, on))


def unique(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of Unique: the first of equal elements takes the cotangent."""
    places, axis = f.results[1], f.value("axis")
    assert places is not None
    if axis is not None:
        axis = axis_of(axis, f.x.rank)
        return (scatter_back(g[0], places, axis, size_of(f.x, axis)),)
    return (reshape_as(scatter_back(g[0], places, 0, _count(f.x)), f.x),)


def _count(x: Value) -> Value:
    """Return the number of elements as a vector of one."""
    return x.apply(onnx.SizeOp).unsqueeze([0])


def _pair(first: Value, second: Value) -> Value:
    """Concatenate two scalars."""
    e = first.e
    parts = [scalar.unsqueeze([0]).value for scalar in (first, second)]
    return e(e.emit(onnx.ConcatOp(parts, axis=0)))


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "Compress": compress,
        "Gather": gather,
        "GatherElements": gather_elements,
        "GatherND": gather_nd,
        "OneHot": one_hot,
        "ScatterElements": scatter_elements,
        "ScatterND": scatter_nd,
        "TensorScatter": tensor_scatter,
        "TopK": top_k,
        "Unique": unique,
    }
)
"""ONNX op -> its rule."""
