"""Sorted elements, and running sums, products and extremes along an axis."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from xdsl.dialects.builtin import i32, i64

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.shapes.forms import Form
from dialects.shapes.sizes import floordiv
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call, Rule
from passes.lower_aten.indices import iota
from passes.lower_aten.precision import in_float32
from passes.lower_aten.promotion import BOOL, category, is_float
from passes.lower_aten.rules.shape import product_of, take_position
from passes.lower_aten.shapes import sizes


def _top(f: Call, count: Form, *, descending: bool) -> Sequence[Value]:
    """Return the first `count` elements of the sorted axis and their indices; equal ones stay in order."""
    axis = f.dim % f.self.rank
    x: Value = f.self.cast(i32) if category(f.self.dtype) == BOOL else f.self
    top = onnx.TopKOp(x.value, f.vector([count]).value, axis=axis, largest=int(descending), sorted=1)
    values, indices = f.e.emit.all(top)
    return f.e(values).cast(f.self.dtype), f.e(indices)


def sort(f: Call, e: Builder) -> Sequence[Value | None]:
    if not f.self.rank:
        return f.self, e.number(0, i64)
    axis: int = f.dim % f.self.rank
    return _top(f, sizes(f.self)[axis], descending=f.descending)


def argsort(f: Call, e: Builder) -> Value:
    found = sort(f, e)[1]
    assert found is not None
    return found


def top_k(f: Call, e: Builder) -> Sequence[Value | None]:
    return _top(f, f.k, descending=f.largest) if f.self.rank else (f.self, e.number(0, i64))


def kth_value(f: Call, e: Builder) -> Sequence[Value | None]:
    """The k-th smallest element and its index."""
    if not f.self.rank:
        return f.self, e.number(0, i64)
    return _at(f, _top(f, f.k, descending=False), f.k - 1)


def median(f: Call, e: Builder) -> Sequence[Value | None]:
    """The lower of the middle elements and its index."""
    if not f.self.rank:
        return f.self, e.number(0, i64)
    axis: int = f.dim % f.self.rank
    middle = floordiv(sizes(f.self)[axis] - 1, 2)
    return _at(f, _top(f, middle + 1, descending=False), middle)


def median_of_all(f: Call, e: Builder) -> Value:
    """The lower of the middle elements; NaN of none, which is added behind a dynamic number of elements."""
    flat = f.self.apply(onnx.ReshapeOp, e.ints([-1]))
    count = product_of(sizes(f.self))
    middle = floordiv(count - 1, 2)
    k = f.vector([middle + 1])
    values = e(e.emit.all(onnx.TopKOp(flat.value, k.value, axis=0, largest=0, sorted=1))[0])
    if not isinstance(count, int) and is_float(f.dtype):
        values = e.concat([values, e.scalar(math.nan, values).unsqueeze([0])], 0)
    return take_position(f, values, 0, middle)


def _middle_number(f: Call, x: Value, axis: int) -> Value:
    """Return the lower of the middle elements of an axis that are numbers, keeping the axis; NaN of none."""
    is_nan = x.apply(onnx.IsNaNOp)
    count = is_nan.apply(onnx.NotOp).cast(i64).sum_axes([axis], keepdims=1)
    found = _sort_along(f, is_nan.where(f.e.scalar(math.inf, x), x), axis)
    position = ((count - 1).at_least(0)).apply(onnx.DivOp, 2)
    return (count > 0).where(found.apply(onnx.GatherElementsOp, position, axis=axis), math.nan)


def _sort_along(f: Call, x: Value, axis: int) -> Value:
    count = f.vector([sizes(x)[axis]])
    return f.e(f.e.emit.all(onnx.TopKOp(x.value, count.value, axis=axis, largest=0, sorted=1))[0])


def nan_median(f: Call, e: Builder) -> Sequence[Value | None]:
    """The median of the numbers of an axis, and the index of its first occurrence."""
    x = f.self
    if not x.rank or not is_float(x.dtype):
        return median(f, e)
    axis: int = f.dim % x.rank
    found = _middle_number(f, x, axis)
    index = x.equals(found).cast(i32).apply(onnx.ArgMaxOp, axis=axis, keepdims=1)
    return [found, index] if f.keepdim else [one.squeeze([axis]) for one in (found, index)]


def nan_median_of_all(f: Call, e: Builder) -> Value:
    if not is_float(f.dtype):
        return median_of_all(f, e)
    flat, count = f.self.apply(onnx.ReshapeOp, e.ints([-1])), product_of(sizes(f.self))
    if not isinstance(count, int) or not count:
        flat = e.concat([flat, e.scalar(math.nan, flat).unsqueeze([0])], 0)
        count = count + 1
    return _middle_number(f, flat.assume_shape([count]), 0).squeeze([0])


def most_frequent(f: Call, e: Builder) -> Sequence[Value | None]:
    """The least of the most frequent elements of an axis, and the index of its last occurrence. Memory is
    quadratic in the size of the axis."""
    if not f.self.rank:
        return f.self, e.number(0, i64)
    axis: int = f.dim % f.self.rank
    x = f.self if is_float(f.self.dtype) else f.self.cast(i64)
    rank = x.rank
    rows = x.transpose([*(i for i in range(rank) if i != axis), axis])
    counts = rows.unsqueeze([rank]).equals(rows.unsqueeze([rank - 1])).cast(i64).sum_axes([rank])
    last = e.ints([rank - 1])
    is_most = counts.equals(counts.apply(onnx.ReduceMaxOp, last, keepdims=1))
    largest = rows.apply(onnx.ReduceMaxOp, last, keepdims=1)
    value = is_most.where(rows, largest).apply(onnx.ReduceMinOp, last, keepdims=1)
    is_value = rows.equals(value).cast(i32)
    index = is_value.apply(onnx.ArgMaxOp, axis=rank - 1, keepdims=0, select_last_index=1)
    found = [value.squeeze([rank - 1]).cast(f.self.dtype), index]
    return [one.unsqueeze([axis]) for one in found] if f.keepdim else found


def _at(f: Call, parts: Sequence[Value], position: Form) -> list[Value]:
    axis = f.dim % f.self.rank
    found = [take_position(f, part, axis, position) for part in parts]
    return [part.unsqueeze([axis]) for part in found] if f.keepdim else found


def cumulative_sum(f: Call, e: Builder) -> Value:
    x = f.self.cast(f.dtype)
    return x.apply(onnx.CumSumOp, e.number(f.dim % x.rank, i64)) if x.rank else x


def _prefixes(f: Call, x: Value, neutral: float) -> tuple[Value, int]:
    """Return the prefixes of an axis as rows of a new axis after it, filled up by a neutral number; and the
    axis to reduce. Memory is quadratic in the size of the axis."""
    axis: int = f.dim % x.rank
    index = iota(f, sizes(x)[axis])
    others = list(range(2, x.rank - axis + 1))
    is_inside = index.unsqueeze([1]) >= index
    is_inside = is_inside.unsqueeze(others) if others else is_inside
    return is_inside.where(x.unsqueeze([axis]), x.e.scalar(neutral, x)), axis + 1


def running(op: type[OnnxOp], neutral: float) -> Rule:
    """Return the rule of a reduction of all prefixes of an axis."""

    def rule(f: Call, e: Builder) -> Value:
        x = f.self.cast(f.dtype)
        if not x.rank:
            return x
        rows, axis = _prefixes(f, x, neutral)
        return rows.apply(op, e.ints([axis]), keepdims=0)

    return rule


def running_extreme(op: type[OnnxOp], argument: type[OnnxOp], sign: int) -> Rule:
    """Return the rule of the extreme of all prefixes, and the index of its last occurrence."""

    def rule(f: Call, e: Builder) -> Sequence[Value | None]:
        x = f.self
        if not is_float(x.dtype):
            raise f.refusal("a running extreme of integers", hint="cast to a float dtype first")
        if not x.rank:
            return x, e.number(0, i64)
        rows, axis = _prefixes(f, x, -sign * math.inf)
        values = rows.apply(op, e.ints([axis]), keepdims=0)
        return values, rows.apply(argument, axis=axis, keepdims=0, select_last_index=1)

    return rule


def buckets(boundaries: str) -> Rule:
    """Return the rule of the number of boundaries, the last axis of an argument, below each element."""

    def rule(f: Call, e: Builder) -> Value:
        if boundaries != "boundaries" and f.has("sorter"):
            raise f.refusal("searchsorted with a sorter", hint="sort the sequence first")
        limits, x = getattr(f, boundaries), f.operand(f.self, getattr(f, boundaries).dtype)
        side = f.side if "side" in f.arguments and f.side else "right" if f.right else "left"
        limits = limits.unsqueeze([limits.rank - 1]) if limits.rank > 1 else limits
        x = x.unsqueeze([x.rank])
        below = limits <= x if side == "right" else limits < x
        return below.cast(f.dtype).sum_axes([below.rank - 1])

    return rule


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **dict.fromkeys(("sort.default", "sort.stable"), sort),
        **dict.fromkeys(("argsort.default", "argsort.stable"), argsort),
        "topk.default": top_k,
        "kthvalue.default": kth_value,
        "median.default": median_of_all,
        "median.dim": median,
        "mode.default": most_frequent,
        "nanmedian.default": nan_median_of_all,
        "nanmedian.dim": nan_median,
        "cumsum.default": cumulative_sum,
        "cumprod.default": running(onnx.ReduceProdOp, 1),
        "logcumsumexp.default": in_float32(running(onnx.ReduceLogSumExpOp, -math.inf)),
        "cummax.default": running_extreme(onnx.ReduceMaxOp, onnx.ArgMaxOp, 1),
        "cummin.default": running_extreme(onnx.ReduceMinOp, onnx.ArgMinOp, -1),
        "bucketize.Tensor": buckets("boundaries"),
        "searchsorted.Tensor": buckets("sorted_sequence"),
    }
)
