"""Tracking of an axis through ops that only move elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from xdsl.ir import Operation

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.values import constant_of
from dialects.support.shapes import has_rank, shape_of


def attributes_of(op: OnnxOp) -> Mapping[str, Any]:
    """Return the attributes that are set, by name."""
    return op.onnx_attributes()


def track_axis(op: Operation, axis: int) -> int | None:
    """Return the axis of each result that holds the elements of the first operand's `axis`, all of them and
    in order; None if there is none."""
    rule = _AXES.get(type(op))
    if rule is None or not all(map(has_rank, (op.operands[0], *op.results))):
        return None
    assert isinstance(op, OnnxOp)
    return rule(op, axis)


def only_moves(op: Operation) -> bool:
    """Return whether an op copies elements of its first operand, or of all operands of a Concat."""
    return type(op) in _MOVES


def _of_transpose(op: OnnxOp, axis: int) -> int | None:
    rank = len(shape_of(op.operands[0]))
    perm = attributes_of(op).get("perm") or range(rank)[::-1]
    return list(perm).index(axis)


def _of_reshape(op: OnnxOp, axis: int) -> int | None:
    """Find the axis by equal sizes up to it, or from it on."""
    before, after = shape_of(op.operands[0]), shape_of(op.results[0])
    if None not in before[: axis + 1] and before[: axis + 1] == after[: axis + 1]:
        return axis
    behind = len(before) - axis
    is_last = len(after) >= behind and before[axis:] == after[len(after) - behind :]
    return len(after) - behind if is_last and None not in before[axis:] else None


def _of_other_axes(op: OnnxOp, axis: int) -> int | None:
    """Keep the axis, for ops that change their attribute `axis` only."""
    own = attributes_of(op).get("axis", 0)
    return None if own % len(shape_of(op.operands[0])) == axis else axis


def _of_slice(op: OnnxOp, axis: int) -> int | None:
    axes = constant_of(op.operands[3]) if len(op.operands) > 3 else None
    rank = len(shape_of(op.operands[0]))
    return axis if axes is not None and axis not in [int(one) % rank for one in axes] else None


_AXES: Mapping[type[Operation], Callable[[OnnxOp, int], int | None]] = MappingProxyType(
    {
        onnx.ConcatOp: _of_other_axes,
        onnx.IdentityOp: lambda op, axis: axis,
        onnx.ReshapeOp: _of_reshape,
        onnx.SliceOp: _of_slice,
        onnx.SplitOp: _of_other_axes,
        onnx.TransposeOp: _of_transpose,
    }
)

_MOVES = frozenset(_AXES) | {onnx.FlattenOp, onnx.GatherOp, onnx.SqueezeOp, onnx.UnsqueezeOp}
