"""Axes that hold the batch, and ops that treat its elements differently."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.shapes.forms import Size
from dialects.support.shapes import Dim, has_rank, shape_of
from gradc.graph.batch_repairs import attribute_of, ints_of

PROBE = 1_000_003
"""A prime that no model has as a size: dims that are multiples of it come from the batch."""

AXIS_OPS = (
    *(onnx.ArgMaxOp, onnx.ArgMinOp, onnx.ConcatOp, onnx.GatherElementsOp, onnx.GatherOp, onnx.HardmaxOp),
    *(onnx.LogSoftmaxOp, onnx.LpNormalizationOp, onnx.ScatterElementsOp, onnx.SoftmaxOp, onnx.SplitOp),
    onnx.TopKOp,
)
"""Ops that treat the elements of one axis differently."""

INDEXING_OPS = (onnx.CompressOp, onnx.GatherNDOp, onnx.NonZeroOp, onnx.ScatterNDOp, onnx.UniqueOp)
"""Ops that address elements of their first operand by index."""


def batch_axes(value: SSAValue) -> list[int]:
    """Return the axes of a value of the probe whose sizes come from the batch."""
    if not has_rank(value):
        return []
    return [i for i, dim in enumerate(shape_of(value)) if is_batch(dim)]


def is_batch(dim: Dim) -> bool:
    """Return whether a dim is a multiple of PROBE, such as PROBE*T, other than 0."""
    if isinstance(dim, Size):
        return all(factor % PROBE == 0 for _, factor in dim.terms)
    return dim is not None and dim != 0 and dim % PROBE == 0


def _axis(op: OnnxOp) -> int:
    return attribute_of(op, "axis", onnx.default_of(op.onnx_name(), "axis"))


def obstacle(op: Operation) -> str | None:
    """Return the reason why an op treats elements of the batch differently, or None."""
    axes, rank = batch_axes(op.operands[0]), 0
    if not axes:
        return None
    rank = len(shape_of(op.operands[0]))
    if isinstance(op, INDEXING_OPS):
        return "it addresses elements by index"
    if (
        isinstance(op, AXIS_OPS)
        and attribute_of(op, "axis", onnx.default_of(op.onnx_name(), "axis")) % rank in axes
    ):
        return "it works along the batch"
    if isinstance(op, onnx.FlattenOp) and attribute_of(op, "axis", 1) % (rank + 1) <= axes[0]:
        return "it flattens the batch with what follows"
    if isinstance(op, onnx.SqueezeOp) and not set(axes).isdisjoint(_squeeze_axes(op, rank)):
        return "it removes the batch"
    if isinstance(op, onnx.CumSumOp) and _touches(op.operands[1], axes, rank):
        return "it works along the batch"
    if isinstance(op, onnx.SliceOp) and _cuts(op, axes, rank):
        return "it takes a part of the batch"
    return None


def _squeeze_axes(op: Operation, rank: int) -> list[int]:
    given = ints_of(op.operands[1]) if len(op.operands) > 1 else None
    return [axis % rank for axis in given or ()]


def _touches(vector: SSAValue, axes: Sequence[int], rank: int) -> bool:
    given = ints_of(vector)
    return given is None or any(axis % rank in axes for axis in given)


def _cuts(op: onnx.SliceOp, axes: Sequence[int], rank: int) -> bool:
    """Return whether a Slice takes less than all of one of the axes."""
    starts, ends = ints_of(op.operands[1]), ints_of(op.operands[2])
    if len(op.operands) > 3:
        given = ints_of(op.operands[3])
    else:
        given = None if starts is None else list(range(len(starts)))
    if given is None:
        return True
    if starts is not None and ends is not None:
        bounds = zip(given, starts, ends, strict=True)
        given = [axis for axis, first, last in bounds if first or last < 2**31 - 1]
    return not set(axes).isdisjoint(axis % rank for axis in given)
