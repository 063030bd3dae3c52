"""VJP rules of Softmax and LogSoftmax; half types are computed in f32."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation, SSAValue, Use

from dialects.onnx import ops as onnx
from dialects.onnx.values import constant_of
from dialects.support.shapes import has_rank, shape_of, static_shape
from passes.autodiff.common.label_scatter import split_cotangent
from passes.autodiff.common.primal import Gradient, Primal, Rule
from passes.autodiff.rules.norm import sum_over, wide
from passes.builder.values import Builder, Value


def softmax(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    axis = f.value("axis", -1)
    y, cotangent = wide(_without_nan(f, g[0])), wide(g[0])
    product = _product_of(f.y, g[0]) if axis % f.y.rank == f.y.rank - 1 and y is f.y else None
    share = sum_over(cotangent * y if product is None else product, [axis], keepdims=1)
    return ((y * (cotangent - share)).cast(g[0].dtype),)


def _product_of(y: Value, cotangent: Value) -> Value | None:
    """Return y times the cotangent as o times c, where o = y v is narrower than y and the cotangent is c v^T,
    as in attention (0.95 to 0.98 of the time), or None. The row sums are equal."""
    made = cotangent.value.owner
    turned = made.operands[1].owner if isinstance(made, onnx.MatMulOp) else None
    if not isinstance(made, onnx.MatMulOp) or not isinstance(turned, onnx.TransposeOp):
        return None
    for use in y.value.uses:
        op = use.operation
        if not isinstance(op, onnx.MatMulOp) or use.index or op.operands[1] is not turned.operands[0]:
            continue
        c, o = made.operands[0], op.results[0]
        rank = len(shape_of(o))
        is_last_two = turned.onnx_attributes().get("perm") == [*range(rank - 2), rank - 1, rank - 2]
        is_read = any(not isinstance(other.operation, ReturnOp) for other in o.uses)
        if is_read and c.type == o.type and is_last_two and _is_narrower(o, y.value):
            return y.e(c) * y.e(o)
    return None


def _is_narrower(value: SSAValue, other: SSAValue) -> bool:
    """Return whether `value` has fewer columns; not for empty ones (onnxruntime 1.31's sums are wrong)."""
    columns, sizes = shape_of(value)[-1], static_shape(other)
    return isinstance(columns, int) and sizes is not None and 0 not in sizes and columns < sizes[-1]


def _without_nan(f: Primal, cotangent: Value) -> Value:
    """Replace NaN results, which exporters mask for fully masked rows of attention: their cotangent is 0, but
    0 * NaN is NaN. The reader's replacement is used if it has the type of y, else 0."""
    y = f.y
    copies = _copies(y.value)
    reads = (use for value in copies for use in value.uses if not _reads_type(use))
    users = [use.operation for use in reads if not isinstance(use.operation, onnx.CastOp)]
    is_hidden = False
    for op in users:
        if not isinstance(op, onnx.WhereOp) or op.parent is not y.value.owner.parent:
            continue
        is_masked = len(users) == 1 and op.operands[0] not in copies and _masks_nan(op, f, copies)
        if not is_masked and not _is_for_nan(op, copies):
            continue
        if _has_shape_of(op, y.value) and y.value in op.operands:
            return y.e(op.results[0])
        is_hidden = True
    return _unread_nan(y, cotangent).where(y.e.scalar(0, y), y) if is_hidden else y


def _copies(y: SSAValue) -> set[SSAValue]:
    """Return the value and its casts."""
    return {y, *(use.operation.results[0] for use in y.uses if isinstance(use.operation, onnx.CastOp))}


def _unread_nan(y: Value, cotangent: Value) -> Value:
    return y.apply(onnx.IsNaNOp) & cotangent.equals(0)


def _reads_type(use: Use) -> bool:
    """Return whether the use reads the type or shape only."""
    return isinstance(use.operation, onnx.ShapeOp | onnx.CastLikeOp) and (
        use.index == len(use.operation.operands) - 1
    )


def _is_for_nan(op: onnx.WhereOp, copies: Collection[SSAValue]) -> bool:
    """Return whether a copy is selected where none is NaN, or where no cotangent reads a NaN."""
    condition, yes, no = op.operands
    made, kept = condition.owner, no
    if isinstance(made, onnx.NotOp):
        made, kept = made.operands[0].owner, yes
    if isinstance(made, onnx.AndOp):
        made = made.operands[0].owner
    return isinstance(made, onnx.IsNaNOp) and made.operands[0] in copies and kept in copies


def _has_shape_of(op: Operation, y: SSAValue) -> bool:
    """Return whether the replacement of y has its shape."""
    shapes = [shape_of(value) for value in (op.results[0], y) if has_rank(value)]
    return len(shapes) == 2 and shapes[0] == shapes[1] and None not in shapes[0]


def _masks_nan(op: onnx.WhereOp, f: Primal, copies: Collection[SSAValue]) -> bool:
    """Return whether whole rows are masked, or elements that -inf made 0 (NaN in rows of -inf)."""
    condition, yes, no = op.operands
    if _is_row_constant(condition, f.y, f.value("axis", -1)):
        return True
    x = f.operand(0)
    masked = None if x is None else _uncast(x.value).owner
    if not isinstance(masked, onnx.WhereOp) or masked.operands[0] is not condition:
        return False
    pairs = (masked.operands[1], yes), (masked.operands[2], no)
    hidden, kept = pairs if yes not in copies else reversed(pairs)
    return kept[1] in copies and _is_all(hidden[0], -np.inf) and _is_all(hidden[1], 0)


def _uncast(value: SSAValue) -> SSAValue:
    return value.owner.operands[0] if isinstance(value.owner, onnx.CastOp) else value


def _is_all(value: SSAValue, number: float) -> bool:
    known = constant_of(value)
    return known is not None and bool((known == number).all())


def _is_row_constant(condition: SSAValue, y: Value, axis: int) -> bool:
    """Return whether the condition is constant along each row of the softmax."""
    if not has_rank(condition):
        return False
    shape, behind = shape_of(condition), y.rank - axis % y.rank
    return len(shape) < behind or shape[-behind] == 1


def log_softmax(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    y, axis = wide(_without_nan(f, g[0])), f.value("axis", -1)
    parts = split_cotangent(g[0])
    if parts is not None and parts[0].axis == axis % f.y.rank:
        scatter, dense = replace(parts[0], updates=wide(parts[0].updates)), parts[1]
        found = scatter.log_softmax_adjoint(y, None if dense is None else wide(dense))
        return (found.cast(g[0].dtype),)
    cotangent = wide(g[0])
    total = sum_over(cotangent, [axis], keepdims=1)
    return ((cotangent - y.exp() * total).cast(g[0].dtype),)


RULES: Mapping[str, Rule] = MappingProxyType({"LogSoftmax": log_softmax, "Softmax": softmax})
"""ONNX op -> its rule."""
