"""Elements by index tensors: gathers and scatters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from xdsl.dialects.builtin import i64

from dialects.onnx import ops as onnx
from dialects.shapes.forms import Form
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call, Number, Rule
from passes.lower_aten.indices import scatter_rows
from passes.lower_aten.promotion import BOOL, category, is_float
from passes.lower_aten.rules.compare import as_bool, chosen
from passes.lower_aten.rules.pointwise import limits_of
from passes.lower_aten.rules.shape import permute_axes, reshape_to
from passes.lower_aten.rules.slices import inverse
from passes.lower_aten.shapes import expand_to, sizes


def _is_mask(index: Value | None) -> bool:
    return index is not None and category(index.dtype) == BOOL


def _axes(f: Call) -> list[int]:
    return [axis for axis, index in enumerate(f.indices) if index is not None]


def _position(axes: Sequence[int]) -> int:
    """Return the axis of the result at which the indexed axes are: in place if they are adjacent, else 0."""
    adjacent = list(axes) == list(range(axes[0], axes[-1] + 1))
    return axes[0] if adjacent else 0


def _tuples(f: Call) -> Value:
    """Return the index tensors, broadcast, as tuples along a last axis."""
    given = [index.as_int64() for index in f.indices if index is not None]
    if len(given) == 1:
        return given[0].unsqueeze([given[0].rank])
    shape = _broadcast_shape([sizes(index) for index in given])
    parts = [expand_to(f, index, shape) for index in given]
    return f.e.concat([part.unsqueeze([part.rank]) for part in parts], len(shape))


def _broadcast_shape(shapes: Sequence[Sequence[Form]]) -> list[Form]:
    rank = max(len(shape) for shape in shapes)
    columns = zip(*([1] * (rank - len(shape)) + list(shape) for shape in shapes), strict=True)
    return [next((size for size in column if size != 1), 1) for column in columns]


def index(f: Call, e: Builder) -> Value:
    """Elements at the tuples of the index tensors."""
    x, axes = f.self, _axes(f)
    if any(_is_mask(each) for each in f.indices):
        hint = "use torch.where, which keeps the sizes, or multiply by the mask"
        raise f.refusal("an index by a boolean mask, whose number of elements depends on values", hint=hint)
    if not axes:
        return x
    if len(axes) == 1:
        (found,) = (each for each in f.indices if each is not None)
        return x.apply(onnx.GatherOp, found.as_int64(), axis=axes[0])
    perm = [*axes, *(axis for axis in range(x.rank) if axis not in axes)]
    tuples = _tuples(f)
    found = permute_axes(x, perm).apply(onnx.GatherNDOp, tuples)
    return permute_axes(found, _from_front(found.rank, tuples.rank - 1, _position(axes)))


def _from_front(rank: int, count: int, position: int) -> list[int]:
    """Return the permutation that moves the first `count` axes to a position."""
    return [*range(count, count + position), *range(count), *range(count + position, rank)]


def index_put(f: Call, e: Builder) -> Value:
    """`self` with values, broadcast to the indexed elements, written or added at the tuples."""
    x, axes = f.self, _axes(f)
    values = f.values.cast(f.dtype)
    if any(_is_mask(each) for each in f.indices):
        return _put_by_mask(f, values)
    if not axes:
        return x + values if f.accumulate else expand_to(f, values, f.shape)
    perm = [*axes, *(axis for axis in range(x.rank) if axis not in axes)]
    tuples = _tuples(f)
    count, position = tuples.rank - 1, _position(axes)
    front = sizes(tuples)[:-1]
    rest = [sizes(x)[axis] for axis in perm[len(axes) :]]
    target = [*rest[:position], *front, *rest[position:]]
    values = expand_to(f, values, target)
    rank = len(target)
    updates = permute_axes(values, inverse(_from_front(rank, count, position)))
    reduction = "add" if f.accumulate else "none"
    written = permute_axes(x, perm).apply(onnx.ScatterNDOp, tuples, updates, reduction=reduction)
    return permute_axes(written, inverse(perm))


def _put_by_mask(f: Call, values: Value) -> Value:
    """Write one number where a mask holds."""
    mask, *others = f.indices
    is_one = all(size == 1 for size in values.shape)
    if any(other is not None for other in others) or not _is_mask(mask) or not is_one:
        hint = "use torch.where, with a value for each element"
        raise f.refusal("index_put of several values by a boolean mask", hint=hint)
    x = f.self
    mask = mask.unsqueeze(list(range(mask.rank, x.rank))) if mask.rank < x.rank else mask
    value = values.squeeze(list(range(values.rank))) if values.rank else values
    return chosen(mask, x + value if f.accumulate else expand_to(f, value, f.shape), x)


def _axis(f: Call) -> int:
    return f.dim % max(f.self.rank, 1)


def _vector(index: Value) -> Value:
    index = index.as_int64()
    return index if index.rank else index.unsqueeze([0])


def index_select(f: Call, e: Builder) -> Value:
    if not f.self.rank:
        return f.self
    return f.self.apply(onnx.GatherOp, _vector(f.index), axis=_axis(f))


def _on_rows(f: Call, source: Value, reduction: str) -> Value:
    """Scatter slices of `source` along an axis."""
    x = f.self
    if not x.rank:
        x, source = x.unsqueeze([0]), source if source.rank else source.unsqueeze([0])
        return scatter_rows(x, 0, _vector(f.index), source, reduction).squeeze([0])
    source = source if source.rank else source.unsqueeze(list(range(x.rank)))
    return scatter_rows(x, _axis(f), _vector(f.index), source, reduction)


def index_add(f: Call, e: Builder) -> Value:
    if category(f.dtype) == BOOL:
        raise f.refusal("index_add of booleans", hint="cast to an integer dtype first")
    source = f.source if f.alpha == 1 else f.source * f.number(f.alpha, f.dtype)
    return _on_rows(f, source, "add")


def index_copy(f: Call, e: Builder) -> Value:
    return _on_rows(f, f.source, "none")


def index_fill(f: Call, e: Builder) -> Value:
    count = sizes(_vector(f.index))[0]
    shape = [count if axis == _axis(f) else size for axis, size in enumerate(sizes(f.self))]
    return _on_rows(f, f.full(f.value, shape or [count], f.dtype), "none")


def gather(f: Call, e: Builder) -> Value:
    """Elements at `index` along an axis; the other axes of `index` may be shorter."""
    x, found, axis = f.self, f.index.as_int64(), _axis(f)
    if not x.rank:
        return expand_to(f, x, f.shape)
    if 0 in f.shape:
        return f.full(0, f.shape, f.dtype)
    found = found if found.rank else found.unsqueeze([0])
    made = _cut(f, x, found, axis).apply(onnx.GatherElementsOp, found, axis=axis)
    return made if f.shape else made.squeeze([0])


def _cut(f: Call, x: Value, like: Value, axis: int | None = None) -> Value:
    """Cut the axes of a tensor, but one, to the sizes of another."""
    given, wanted = sizes(x), sizes(like)
    axes = [i for i in range(x.rank) if i != axis and given[i] != wanted[i]]
    if not axes:
        return x
    return x.apply(
        onnx.SliceOp, f.e.ints([0] * len(axes)), f.vector([wanted[i] for i in axes]), f.e.ints(axes)
    )


def _scatter(f: Call, x: Value, source: Value | Number, reduction: str) -> Value:
    """Scatter elements along an axis; of `source`, those at the positions of `index` count."""
    found = f.index.as_int64()
    if 0 in found.shape:
        return x
    if not f.shape:
        x, found = x.unsqueeze([0]), found if found.rank else found.unsqueeze([0])
    found = found if found.rank else found.unsqueeze([0])
    if isinstance(source, Value) and source.rank:
        updates = _cut(f, source, found)
    else:
        updates = f.full(source, sizes(found), x.dtype)
    made = x.apply(onnx.ScatterElementsOp, found, updates.cast(x.dtype), axis=_axis(f), reduction=reduction)
    return made if f.shape else made.squeeze([0])


_REDUCTIONS = {"add": "add", "multiply": "mul", "sum": "add", "prod": "mul", "amax": "max", "amin": "min"}


def scatter(f: Call, e: Builder) -> Value:
    source = f.src if "src" in f.arguments else f.value
    reduction = _REDUCTIONS[f.reduce] if "reduce" in f.arguments else "none"
    return _scatter(f, f.self, source, reduction)


def scatter_add(f: Call, e: Builder) -> Value:
    return _scatter(f, f.self, f.src, "add")


def scatter_reduce(f: Call, e: Builder) -> Value:
    """A reduction of the elements that meet at a position, with those of `self` or where there are none."""
    x, is_mean = f.self, f.reduce == "mean"
    if category(f.dtype) == BOOL:
        raise f.refusal("scatter_reduce of booleans", hint="cast to an integer dtype first")
    reduction = "add" if is_mean else _REDUCTIONS[f.reduce]
    start = x if f.include_self else _scatter(f, x, _neutral(f, reduction), "none")
    total = _scatter(f, start, f.src, reduction)
    if not is_mean:
        return total
    ones = f.full(1, f.shape, f.dtype)
    counted = ones if f.include_self else _scatter(f, ones, 0, "none")
    count = _scatter(f, counted, 1, "add")
    if is_float(f.dtype):
        return total / count
    return (total - total.apply(onnx.ModOp, count)) / count


def _neutral(f: Call, reduction: str) -> float:
    if reduction in ("add", "mul"):
        return 0 if reduction == "add" else 1
    if is_float(f.dtype):
        return -math.inf if reduction == "max" else math.inf
    low, high = limits_of(f)
    return low if reduction == "max" else high


def masked_fill(f: Call, e: Builder) -> Value:
    return chosen(as_bool(f.mask), f.operand(f.value, f.dtype), f.self)


def take(f: Call, e: Builder) -> Value:
    flat = f.self.apply(onnx.ReshapeOp, e.ints([-1]))
    return flat.apply(onnx.GatherOp, f.index.as_int64(), axis=0)


def put(f: Call, e: Builder) -> Value:
    """The flat tensor with elements written or added at positions."""
    flat = f.self.apply(onnx.ReshapeOp, e.ints([-1]))
    places = f.index.as_int64().apply(onnx.ReshapeOp, e.ints([-1, 1]))
    updates = f.source.apply(onnx.ReshapeOp, e.ints([-1]))
    reduction = "add" if f.accumulate else "none"
    return reshape_to(f, flat.apply(onnx.ScatterNDOp, places, updates, reduction=reduction), f.shape)


def refusal_rule(what: str, hint: str) -> Rule:
    """Return the rule of an op that has no lowering."""

    def rule(f: Call, e: Builder) -> Value:
        raise f.refusal(what, hint=hint)

    return rule


_BY_VALUES = "the number of elements depends on values"
_WHERE = "use torch.where, which keeps the sizes"


def nonzero_static(f: Call, e: Builder) -> Value:
    """The first `size` positions of nonzero elements, and `fill_value` for those that are missing."""
    found = as_bool(f.self).apply(onnx.NonZeroOp).transpose([1, 0])
    missing = f.full(f.fill_value, f.shape, i64)
    start, end = e.ints([0]), f.vector([f.size])
    return e.concat([found, missing], 0).apply(onnx.SliceOp, start, end, e.ints([0]))


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **dict.fromkeys(("index.Tensor", "_unsafe_index.Tensor"), index),
        **dict.fromkeys(("index_put.default", "_unsafe_index_put.default"), index_put),
        "index_select.default": index_select,
        "index_add.default": index_add,
        "index_copy.default": index_copy,
        **dict.fromkeys(("index_fill.int_Scalar", "index_fill.int_Tensor"), index_fill),
        "gather.default": gather,
        **{f"scatter.{which}": scatter for which in ("src", "value", "reduce", "value_reduce")},
        "scatter_add.default": scatter_add,
        "scatter_reduce.two": scatter_reduce,
        **dict.fromkeys(("masked_fill.Scalar", "masked_fill.Tensor"), masked_fill),
        "take.default": take,
        "put.default": put,
        "masked_scatter.default": refusal_rule(f"masked_scatter: {_BY_VALUES}", _WHERE),
        "masked_select.default": refusal_rule(f"masked_select: {_BY_VALUES}", _WHERE),
        "nonzero_static.default": nonzero_static,
        "nonzero.default": refusal_rule(f"nonzero: {_BY_VALUES}", _WHERE),
    }
)
