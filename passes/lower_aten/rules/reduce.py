"""Reductions over axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import cast

from xdsl.dialects.builtin import i32, i64

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.shapes.forms import Form
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call, Rule
from passes.lower_aten.precision import in_float32
from passes.lower_aten.promotion import BOOL, category
from passes.lower_aten.rules.compare import as_bool
from passes.lower_aten.rules.shape import product_of


def axes_of(f: Call) -> list[int]:
    """Return the axes of a reduction: the argument `dim`, all axes if it is absent or empty."""
    rank = f.self.rank
    given: object = f.dim if "dim" in f.arguments else None
    if given is None or given == []:
        return list(range(rank))
    axes = cast("list[int]", given if isinstance(given, list) else [given])
    return sorted(axis % max(rank, 1) for axis in axes)[:rank]


def keeps_axes(f: Call) -> bool:
    """Return the argument `keepdim`; False for ops without it."""
    return bool(f.keepdim) if "keepdim" in f.arguments else False


def over_axes(f: Call, x: Value, op: type[OnnxOp], axes: Sequence[int] | None = None) -> Value:
    """Reduce a value over the axes of the call; a value of rank 0 stays as it is."""
    axes = axes_of(f) if axes is None else axes
    return x.apply(op, x.e.ints(axes), keepdims=int(keeps_axes(f))) if axes else x


def total(f: Call, x: Value) -> Value:
    """Sum a value over the axes of the call."""
    axes = axes_of(f)
    return x.sum_axes(axes, keepdims=int(keeps_axes(f))) if axes else x


def count(f: Call) -> Form:
    """Return the number of elements of the axes of the call."""
    shape = cast("tuple[Form, ...]", f.self.shape)
    return product_of([shape[axis] for axis in axes_of(f)])


def sum_of(f: Call, e: Builder) -> Value:
    return total(f, f.self.cast(f.dtype))


def mean(f: Call, e: Builder) -> Value:
    """The mean, NaN of no elements, of which onnxruntime's ReduceMean is 0."""
    size, x = count(f), f.self.cast(f.dtype)
    if isinstance(size, int) and size > 0:
        return over_axes(f, x, onnx.ReduceMeanOp)
    return total(f, x) / f.number(size, f.dtype)


def product(f: Call, e: Builder) -> Value:
    return over_axes(f, f.self.cast(f.dtype), onnx.ReduceProdOp)


def _orderable(x: Value) -> Value:
    return x.cast(i32) if category(x.dtype) == BOOL else x


def extreme(op: type[OnnxOp]) -> Rule:
    return lambda f, e: over_axes(f, _orderable(f.self), op).cast(f.dtype)


def extreme_with_index(op: type[OnnxOp], argument: type[OnnxOp]) -> Rule:
    """Return the rule of an extreme along one axis and the index of its first occurrence."""

    def rule(f: Call, e: Builder) -> Sequence[Value | None]:
        x = _orderable(f.self)
        values = over_axes(f, x, op).cast(f.dtype) if f.is_read(0) else None
        return values, _index(f, x, argument, axes_of(f)) if f.is_read(1) else None

    return rule


def _index(f: Call, x: Value, argument: type[OnnxOp], axes: Sequence[int]) -> Value:
    if not axes:
        return x.e.number(0, i64)
    return x.apply(argument, axis=axes[0], keepdims=int(keeps_axes(f)))


def argument(op: type[OnnxOp]) -> Rule:
    """Return the rule of the first index of an extreme, of the flat tensor without an axis."""

    def rule(f: Call, e: Builder) -> Value:
        x = _orderable(f.self)
        if f.has("dim") or not x.rank:
            return _index(f, x, op, axes_of(f))
        found = x.apply(onnx.ReshapeOp, e.ints([-1])).apply(op, axis=0, keepdims=0)
        return found.apply(onnx.ReshapeOp, e.ints([1] * x.rank)) if f.keepdim else found

    return rule


def some(f: Call, e: Builder) -> Value:
    """Return whether an element is not 0; False for no elements."""
    return (total(f, as_bool(f.self).cast(i32)) > 0).cast(f.dtype)


def every(f: Call, e: Builder) -> Value:
    """Return whether no element is 0; True for no elements."""
    zeros = as_bool(f.self).apply(onnx.NotOp).cast(i32)
    return total(f, zeros).equals(0).cast(f.dtype)


def count_nonzero(f: Call, e: Builder) -> Value:
    return total(f, as_bool(f.self).cast(i64))


def _variance(f: Call) -> tuple[Value, Value]:
    """Return the variance and the mean, which has axes of size 1."""
    x, axes = f.self, axes_of(f)
    if not axes:
        return (x - x) / f.number(max(1 - _correction(f), 0), f.dtype), x
    average = x.apply(onnx.ReduceMeanOp, x.e.ints(axes), keepdims=1)
    return total(f, (x - average).square()) / _degrees_of_freedom(f), average


def _correction(f: Call) -> float:
    return f.correction if f.has("correction") else 1


def _degrees_of_freedom(f: Call) -> Value:
    size, correction = count(f), _correction(f)
    if isinstance(size, int):
        return f.number(max(size - correction, 0), f.dtype)
    return (f.number(size, f.dtype) - correction).at_least(0)


def variance(f: Call, e: Builder) -> Value:
    return _variance(f)[0]


def deviation(f: Call, e: Builder) -> Value:
    return _variance(f)[0].sqrt()


def _mean_again(f: Call, average: Value) -> Value | None:
    if not f.is_read(1):
        return None
    return average if keeps_axes(f) or not f.self.rank else average.squeeze(axes_of(f))


def variance_and_mean(f: Call, e: Builder) -> Sequence[Value | None]:
    found, average = _variance(f)
    return found, _mean_again(f, average)


def deviation_and_mean(f: Call, e: Builder) -> Sequence[Value | None]:
    found, average = _variance(f)
    return found.sqrt(), _mean_again(f, average)


def log_sum_exp(f: Call, e: Builder) -> Value:
    return over_axes(f, f.self.cast(f.dtype), onnx.ReduceLogSumExpOp)


def vector_norm(f: Call, e: Builder) -> Value:
    """The norm of order `ord` (of old ops `p`) over axes."""
    order = f.ord if "ord" in f.arguments else f.p
    order = 2 if order is None else order
    x = f.self.cast(f.dtype)
    if math.isinf(order):
        return over_axes(f, x.abs(), onnx.ReduceMaxOp if order > 0 else onnx.ReduceMinOp)
    if order == 0:
        return total(f, as_bool(x).cast(f.dtype))
    if not x.rank:
        return x.abs()
    if order in (1, 2):
        return over_axes(f, x, onnx.ReduceL1Op if order == 1 else onnx.ReduceL2Op)
    return total(f, x.abs() ** float(order)) ** (1 / order)


_SUMS = ("sum.default", "sum.dim_IntList")
_MEANS = ("mean.default", "mean.dim")
_NORMS = ("norm.Scalar", "norm.ScalarOpt_dim", "norm.ScalarOpt_dtype", "norm.ScalarOpt_dim_dtype")

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **dict.fromkeys(_SUMS, sum_of),
        **dict.fromkeys(_MEANS, in_float32(mean)),
        **dict.fromkeys(("prod.default", "prod.dim_int"), product),
        **dict.fromkeys(("amax.default", "max.default"), extreme(onnx.ReduceMaxOp)),
        **dict.fromkeys(("amin.default", "min.default"), extreme(onnx.ReduceMinOp)),
        "max.dim": extreme_with_index(onnx.ReduceMaxOp, onnx.ArgMaxOp),
        "min.dim": extreme_with_index(onnx.ReduceMinOp, onnx.ArgMinOp),
        "argmax.default": argument(onnx.ArgMaxOp),
        "argmin.default": argument(onnx.ArgMinOp),
        **dict.fromkeys(("any.default", "any.dim", "any.dims"), some),
        **dict.fromkeys(("all.default", "all.dim", "all.dims"), every),
        **dict.fromkeys(("count_nonzero.default", "count_nonzero.dim_IntList"), count_nonzero),
        "var.correction": in_float32(variance),
        "std.correction": in_float32(deviation),
        "var_mean.correction": in_float32(variance_and_mean),
        "std_mean.correction": in_float32(deviation_and_mean),
        "logsumexp.default": in_float32(log_sum_exp),
        **dict.fromkeys((*_NORMS, "linalg_vector_norm.default"), in_float32(vector_norm)),
    }
)
