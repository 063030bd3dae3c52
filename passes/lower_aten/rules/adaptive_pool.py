"""Pools whose windows divide the data into a given number of parts, and their gradients.

Part i of Y of an axis of X elements is [floor(i X / Y), ceil((i + 1) X / Y)).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from xdsl.dialects.builtin import f64, i64

from dialects.onnx import ops as onnx
from dialects.shapes.forms import Form
from dialects.shapes.sizes import floordiv
from dialects.support.shapes import show
from passes.builder.tensors import contract
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call, Rule
from passes.lower_aten.derivative import pull_back
from passes.lower_aten.windows import add_batch, remove_batch, sizes_of


def _equal_parts(x: Sequence[Form], y: Sequence[Form]) -> list[int] | None:
    """Return the sizes of the parts if the parts of each axis are equal and of a known size."""
    parts = [None if count == 0 else floordiv(size, count) for size, count in zip(x, y, strict=True)]
    known = [part for part in parts if isinstance(part, int) and part > 0]
    fit = len(known) == len(parts) and all(p * c == s for p, c, s in zip(known, y, x, strict=True))
    return known if fit else None


# Mean


def mean_pool(n: int) -> Rule:
    def rule(f: Call, e: Builder) -> Value:
        x, y = sizes_of(f.self)[-n:], f.shape[-n:]
        if all(count == 1 for count in y):
            axes = range(f.self.rank - n, f.self.rank)
            return f.self.apply(onnx.ReduceMeanOp, e.ints(axes), keepdims=1)
        data = add_batch(f.self, n)
        parts = _equal_parts(x, y)
        if parts is not None and f.dtype != f64:
            return remove_batch(_mean_of_parts(data, parts), f.self)
        for axis, (size, count) in enumerate(zip(x, y, strict=True)):
            if size != count:
                weights = _weights(f, size, count, data)
                data = e(contract(e.emit, data.value, 2 + axis, weights.value, literal_zeros=True))
        return remove_batch(data, f.self)

    return rule


def _mean_of_parts(data: Value, parts: Sequence[int]) -> Value:
    return data.apply(onnx.AveragePoolOp, kernel_shape=parts, strides=parts)


def mean_pool_backward(n: int) -> Rule:
    def rule(f: Call, e: Builder) -> Value:
        x, y = sizes_of(f.self)[-n:], sizes_of(f.grad_output)[-n:]
        if all(count == 1 for count in y):
            share = f.grad_output / f.number(math.prod(x, start=1), f.dtype)
            return share.apply(onnx.ExpandOp, f.vector(f.shape))
        g = add_batch(f.grad_output, n)
        parts = _equal_parts(x, y)
        if parts is not None:
            (found,) = pull_back(_mean_of_parts(add_batch(f.self, n), parts), g)
            return remove_batch(found, f.self)
        for axis, (size, count) in enumerate(zip(x, y, strict=True)):
            if size != count:
                weights = _weights(f, size, count, g).transpose([1, 0])
                g = e(contract(e.emit, g.value, 2 + axis, weights.value, literal_zeros=True))
        return remove_batch(g, f.self)

    return rule


def _bounds(size: int, count: int) -> list[tuple[int, int]]:
    return [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def _weights(f: Call, size: Form, count: Form, like: Value) -> Value:
    """Return the (X, Y) matrix of means over parts, a constant for known sizes."""
    if isinstance(size, int) and isinstance(count, int):
        matrix = np.zeros((size, count))
        for i, (start, end) in enumerate(_bounds(size, count)):
            matrix[start:end, i] = 1 / (end - start)
        return f.e.constant(matrix, like)
    x, y = f.number(size, i64), f.number(count, i64)
    zero, one = (f.e.number(value, i64) for value in (0, 1))
    parts = zero.apply(onnx.RangeOp, y, one)
    start, end = parts * x / y, ((parts + 1) * x + (y - 1)) / y
    places = zero.apply(onnx.RangeOp, x, one).unsqueeze([1])
    inside = ((places >= start) & (places < end)).cast(like.dtype)
    return inside / (end - start).cast(like.dtype)


# Maximum


def max_pool(n: int) -> Rule:
    """Return the rule of the maxima and their indices in the plane of their channel."""

    def rule(f: Call, e: Builder) -> Sequence[Value | None]:
        x, y = sizes_of(f.self)[-n:], list(f.shape[-n:])
        parts = _equal_parts(x, y)
        if all(count == 1 for count in y):
            rows = f.self.apply(onnx.ReshapeOp, f.vector([*_lead(f, n), math.prod(x, start=1)]), allowzero=1)
            values = rows.apply(onnx.ReduceMaxOp, e.ints([rows.rank - 1]), keepdims=1)
            indices = rows.apply(onnx.ArgMaxOp, axis=rows.rank - 1, keepdims=1)
            return [part.unsqueeze(range(rows.rank, rows.rank + n - 1)) for part in (values, indices)]
        if parts is not None:
            made = onnx.MaxPoolOp(add_batch(f.self, n).value, kernel_shape=parts, strides=parts)
            values, flat = (remove_batch(e(result), f.self) for result in e.emit.all(made))
            plane = e(e.emit.product([e.emit.sizes(f.self.value, [f.self.rank - n + i]) for i in range(n)]))
            return [values, flat.apply(onnx.ModOp, plane) if f.is_read(1) else None]
        sizes = [size for size in (*x, *y) if isinstance(size, int)]
        if len(sizes) < 2 * n:
            hint = "a size that is a multiple of the result's, or a fixed one"
            raise f.refusal("parts that depend on a dim", given=f"{show(x)} to {show(y)}", hint=hint)
        return _max_of_parts(f, n, sizes[:n], sizes[n:])

    return rule


def _lead(f: Call, n: int) -> list[Form]:
    return sizes_of(f.self)[:-n]


def _max_of_parts(f: Call, n: int, x: Sequence[int], y: Sequence[int]) -> Sequence[Value | None]:
    """Gather the elements of each part, the last one several times in short parts, and reduce them."""
    e, data, lead = f.e, f.self, f.self.rank - n
    places = np.zeros((1,) * (2 * n), np.int64)
    for axis, (size, count) in enumerate(zip(x, y, strict=True)):
        bounds = _bounds(size, count)
        most = max(end - start for start, end in bounds)
        taken = np.array([[min(start + k, end - 1) for k in range(most)] for start, end in bounds])
        data = data.apply(onnx.GatherOp, e.constant(taken), axis=lead + 2 * axis)
        column = taken.reshape([1] * (2 * axis) + [count, most] + [1] * (2 * (n - axis - 1)))
        places = places + column * math.prod(x[axis + 1 :])
    order = [*range(0, 2 * n, 2), *range(1, 2 * n, 2)]
    rows = data.transpose([*range(lead), *(lead + axis for axis in order)])
    rows = rows.apply(onnx.ReshapeOp, f.vector([*_lead(f, n), *y, -1]), allowzero=1)
    flat = places.transpose(order).reshape(*y, -1)
    values = rows.apply(onnx.ReduceMaxOp, e.ints([rows.rank - 1]), keepdims=0)
    if not f.is_read(1):
        return [values, None]
    best = rows.apply(onnx.ArgMaxOp, axis=rows.rank - 1, keepdims=1)
    table = e.constant(flat).apply(onnx.ExpandOp, e.shape(rows))
    indices = table.apply(onnx.GatherElementsOp, best, axis=rows.rank - 1)
    return [values, indices.squeeze([rows.rank - 1])]


def max_pool_backward(n: int) -> Rule:
    """Return the rule of its gradient: the cotangents are added at the indices."""

    def rule(f: Call, e: Builder) -> Value:
        lead = _lead(f, n)
        whole = [*lead, math.prod(sizes_of(f.self)[-n:], start=1)]
        parts = [*lead, math.prod(sizes_of(f.grad_output)[-n:], start=1)]
        zeros = f.full(0, whole, f.dtype)
        indices, updates = (
            given.apply(onnx.ReshapeOp, f.vector(parts), allowzero=1) for given in (f.indices, f.grad_output)
        )
        found = zeros.apply(onnx.ScatterElementsOp, indices, updates, axis=len(lead), reduction="add")
        return found.apply(onnx.ReshapeOp, f.vector(f.shape), allowzero=1)

    return rule


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "_adaptive_avg_pool2d.default": mean_pool(2),
        "_adaptive_avg_pool2d_backward.default": mean_pool_backward(2),
        "_adaptive_avg_pool3d.default": mean_pool(3),
        "_adaptive_avg_pool3d_backward.default": mean_pool_backward(3),
        "adaptive_max_pool2d.default": max_pool(2),
        "adaptive_max_pool2d_backward.default": max_pool_backward(2),
        "adaptive_max_pool3d.default": max_pool(3),
        "adaptive_max_pool3d_backward.default": max_pool_backward(3),
    }
)
