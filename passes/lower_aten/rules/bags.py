"""Sums, means and maxima of rows of a table by index, in bags, and their gradients."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from xdsl.dialects.builtin import i64

from dialects.onnx import ops as onnx
from dialects.shapes.forms import Form
from passes.autodiff.common.gather_adjoint import scatter_back
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call, Rule
from passes.lower_aten.indices import iota
from passes.lower_aten.rules.embedding import by_frequency
from passes.lower_aten.rules.shape import slice_axis

SUM, MEAN, MAX = range(3)
"""Modes of a bag."""


def _size(f: Call, size: Form) -> int | Value:
    return size if isinstance(size, int) else f.vector([size])


def _bags(f: Call) -> Value:
    """Return the bag of each index: the number of offsets up to its position, less 1."""
    count: Form = f.indices.shape[0]
    offsets = f.offsets.as_int64()
    starts = scatter_back(f.e.fill_like(1, offsets), offsets, 0, _size(f, count + 1))
    bags = starts.apply(onnx.CumSumOp, f.e.number(0, i64)) - 1
    return slice_axis(f, bags, 0, 0, count).assume_shape((count,))


def _is_counted(f: Call) -> Value | None:
    """Return whether each index is none of the padding's; None if all are."""
    if isinstance(f.padding_idx, int) and f.padding_idx < 0:
        return None
    return f.indices.equals(f.operand(f.padding_idx, f.indices.dtype)).apply(onnx.NotOp)


def _without_padding(f: Call, rows: Value) -> Value:
    """Return rows, one for each index, with zeros for those of the padding."""
    counted = _is_counted(f)
    if counted is None:
        return rows
    return (counted.unsqueeze([1]) if rows.rank > 1 else counted).where(rows, 0)


def _bag_sizes(f: Call, bags: Value, count: Form) -> Value:
    """Return the number of indices of each bag, without the padding's."""
    return scatter_back(_without_padding(f, f.e.fill_like(1, bags)), bags, 0, _size(f, count))


def embedding_bag(f: Call, e: Builder) -> Sequence[Value | None]:
    """The bags, the bag of each index, the sizes of the bags, and the indices of their maxima."""
    bags, count = _bags(f), f.shape[0]
    sizes = _bag_sizes(f, bags, count)
    others = _other_results(f, bags, sizes)
    rows = f.weight.apply(onnx.GatherOp, f.indices, axis=0)
    if f.mode == MAX:
        found, indices = _maxima(f, rows, bags, sizes)
        return [found, *others, indices]
    if f.has("per_sample_weights"):
        rows = rows * f.per_sample_weights.unsqueeze([1])
    total = scatter_back(_without_padding(f, rows), bags, 0, _size(f, count))
    if f.mode == MEAN:
        return [total / sizes.at_least(1).cast(total.dtype).unsqueeze([1]), *others, sizes]
    return [total, *others, f.full(0, f.shape_of(3), f.dtype_of(3)) if f.is_read(3) else None]


def _other_results(f: Call, bags: Value, sizes: Value) -> list[Value | None]:
    """Return the bag of each index, of which torch has none for plain sums, and the sizes, which are zeros
    for sums."""
    is_empty = f.shape_of(1) == (0,)
    index = f.full(0, (0,), f.dtype_of(1)) if is_empty else bags.cast(f.dtype_of(1))
    counted = f.full(0, f.shape_of(2), f.dtype_of(2)) if f.mode == SUM else sizes.cast(f.dtype_of(2))
    return [index, counted]


def _maxima(f: Call, rows: Value, bags: Value, sizes: Value) -> tuple[Value, Value]:
    """Return the maxima of each bag and column, and the index of the first row with it; zeros for no rows."""
    counted = _is_counted(f)
    if counted is not None:
        rows = counted.unsqueeze([1]).where(rows, -math.inf)
    lowest = f.full(-math.inf, f.shape, f.dtype)
    places = bags.unsqueeze([1])
    found = lowest.apply(onnx.ScatterNDOp, places, rows, reduction="max")
    position = iota(f, f.indices.shape[0]).unsqueeze([1])
    last = f.operand(f.indices.shape[0], i64)
    is_maximum = rows.equals(found.apply(onnx.GatherOp, bags, axis=0))
    if counted is not None:
        is_maximum = is_maximum & counted.unsqueeze([1])
    start = last.apply(onnx.ExpandOp, f.vector(f.shape))
    first = start.apply(onnx.ScatterNDOp, places, is_maximum.where(position, last), reduction="min")
    every = f.e.concat([f.indices.as_int64(), f.e.ints([0])], 0)
    indices = every.apply(onnx.GatherOp, first, axis=0).cast(f.dtype_of(3))
    return (sizes > 0).unsqueeze([1]).where(found, 0), indices


def embedding_bag_backward(f: Call, e: Builder) -> Value:
    """The gradient of the table."""
    bags, count = _bags(f), f.grad.shape[0]
    rows = _size(f, f.num_weights)
    if f.mode == MAX:
        return _through_maxima(f, _bag_sizes(f, bags, count))
    g = f.grad
    if f.mode == MEAN:
        g = g / _bag_sizes(f, bags, count).at_least(1).cast(g.dtype).unsqueeze([1])
    g = _without_padding(f, g.apply(onnx.GatherOp, bags, axis=0))
    if f.has("per_sample_weights"):
        g = g * f.per_sample_weights.unsqueeze([1])
    indices = f.indices.as_int64()
    if f.scale_grad_by_freq:
        g = by_frequency(g, indices, rows)
    return scatter_back(g, indices, 0, rows)


def _through_maxima(f: Call, sizes: Value) -> Value:
    g = (sizes > 0).unsqueeze([1]).where(f.grad, 0)
    zeros = f.full(0, f.shape, f.dtype)
    indices = f.maximum_indices.as_int64()
    return zeros.apply(onnx.ScatterElementsOp, indices, g, axis=0, reduction="add")


def weights_of_samples_backward(f: Call, e: Builder) -> Value:
    """The product of each index's row and the cotangent of its bag."""
    g = f.grad.apply(onnx.GatherOp, _bags(f), axis=0)
    products = g * f.weight.apply(onnx.GatherOp, f.indices, axis=0)
    return _without_padding(f, products.sum_axes([1]))


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **dict.fromkeys(("_embedding_bag.default", "_embedding_bag_forward_only.default"), embedding_bag),
        "_embedding_bag_backward.default": embedding_bag_backward,
        "_embedding_bag_per_sample_weights_backward.default": weights_of_samples_backward,
    }
)
