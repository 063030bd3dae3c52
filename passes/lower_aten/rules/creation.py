"""New tensors: filled ones, ranges, identity matrices."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeGuard

import numpy as np
from xdsl.dialects.builtin import f64, i64

from dialects.onnx import ops as onnx
from dialects.shapes.forms import Form, Size
from dialects.support.dtypes import known_dtype
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call, Number, Rule
from passes.lower_aten.indices import MOST_CONSTANT, iota
from passes.lower_aten.promotion import is_float


def full(f: Call, e: Builder) -> Value:
    return f.full(f.fill_value, f.shape, f.dtype)


def fill(f: Call, e: Builder) -> Value:
    return f.full(f.value, f.shape, f.dtype)


def fill_rule(number: Number) -> Rule:
    """Return the rule of an op that fills its result with one number."""
    return lambda f, e: f.full(number, f.shape, f.dtype)


def scalar_tensor(f: Call, e: Builder) -> Value:
    return f.number(f.s, f.dtype)


def arange(f: Call, e: Builder) -> Value:
    """start + step * i; the number of elements is known from the result."""
    start: Number = f.start if "start" in f.arguments else 0
    step: Number = f.step if "step" in f.arguments else 1
    return _line(f, f.shape[0], start, step)


def _line(f: Call, count: Form, start: Number, step: Number) -> Value:
    if isinstance(start, int | float) and isinstance(step, int | float) and _is_small(count):
        line = start + np.arange(count) * step
        return f.e.constant(line.astype(known_dtype(f.dtype).numpy))
    dtype = i64 if isinstance(start, int | Size) and isinstance(step, int | Size) else f64
    line = iota(f, count).cast(dtype)
    line = line if step == 1 else line * f.number(step, dtype)
    return (line if start == 0 else line + f.number(start, dtype)).cast(f.dtype)


def _is_small(count: Form) -> TypeGuard[int]:
    return isinstance(count, int) and count <= MOST_CONSTANT


def linspace(f: Call, e: Builder) -> Value:
    """Evenly spaced numbers from `start` to `end`, counted from the nearer one."""
    count: Form = f.shape[0]
    dtype = known_dtype(f.dtype).numpy
    known = isinstance(f.start, int | float) and isinstance(f.end, int | float)
    if not known or not isinstance(count, int):
        return _computed_linspace(f, count)
    if not is_float(f.dtype) and count > 1:
        start, step = float(f.start), (float(f.end) - float(f.start)) / (count - 1)
        line = np.concatenate([start + step * np.arange(count // 2), _down(float(f.end), step, count)])
        return e.constant(np.trunc(line).astype(dtype))
    return e.constant(np.linspace(float(f.start), float(f.end), count).astype(dtype))


def _computed_linspace(f: Call, count: Form) -> Value:
    """Return `linspace` between numbers, or of a count, that depend on sizes, by ops."""
    if not is_float(f.dtype):
        raise f.refusal("linspace of integers that depend on sizes", hint="use arange and arithmetic")
    index, last = iota(f, count).cast(f64), f.number(count, f64) - 1.0
    start, end = f.number(f.start, f64), f.number(f.end, f64)
    step = (end - start) / last.at_least(1.0)
    line = (index + index <= last).where(start + index * step, end - (last - index) * step)
    return line.cast(f.dtype)


def _down(end: float, step: float, count: int) -> np.ndarray:
    return end - step * np.arange(count - count // 2)[::-1]


def eye(f: Call, e: Builder) -> Value:
    rows, columns = f.shape
    return diagonal_mask(f, rows, columns, 0).cast(f.dtype)


def diagonal_mask(f: Call, rows: Form, columns: Form, offset: int) -> Value:
    """Return a boolean matrix, true on a diagonal."""
    row = iota(f, rows) + offset if offset else iota(f, rows)
    return row.unsqueeze([1]).equals(iota(f, columns))


def one_hot(f: Call, e: Builder) -> Value:
    return f.self.unsqueeze([f.self.rank]).equals(iota(f, f.shape[-1])).cast(f.dtype)


def triangle_indices(upper: bool) -> Rule:
    """Return the rule of the indices of a triangle of a matrix, by row."""

    def rule(f: Call, e: Builder) -> Value:
        whole = f.full(1, (f.row, f.col), i64)
        offset = e.constant(np.array(f.offset, np.int64))
        return whole.apply(onnx.TriluOp, offset, upper=int(upper)).apply(onnx.NonZeroOp).cast(f.dtype)

    return rule


_EMPTIES = (
    "empty.memory_format",
    "empty_like.default",
    "empty_permuted.default",
    "empty_strided.default",
    "new_empty.default",
    "new_empty_strided.default",
    "_efficientzerotensor.default",
)
_ZEROS = ("zeros.default", "zeros_like.default", "new_zeros.default", "zero.default")
ONES = ("ones.default", "ones_like.default", "new_ones.default")

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **dict.fromkeys(("full.default", "full_like.default", "new_full.default"), full),
        **dict.fromkeys(("fill.Scalar", "fill.Tensor"), fill),
        **dict.fromkeys((*_EMPTIES, *_ZEROS), fill_rule(0)),
        **dict.fromkeys(ONES, fill_rule(1)),
        "scalar_tensor.default": scalar_tensor,
        **dict.fromkeys(("arange.default", "arange.start", "arange.start_step"), arange),
        "linspace.default": linspace,
        **dict.fromkeys(("eye.default", "eye.m"), eye),
        "one_hot.default": one_hot,
        "tril_indices.default": triangle_indices(False),
        "triu_indices.default": triangle_indices(True),
    }
)
