"""Cotangents that are 0 but for one element along an axis, as those of classification losses.

The element is that of a label. LogSoftmax's VJP of such a cotangent is exp(y) times a number per row, with
one element changed: half of the passes over the classes that a dense cotangent takes.
"""

from __future__ import annotations

from dataclasses import dataclass

from dialects.onnx import ops as onnx
from dialects.onnx.call import axis_of
from dialects.onnx.values import constant_of
from dialects.support.shapes import has_rank, shape_of
from passes.builder.values import Value


@dataclass(frozen=True)
class LabelScatter:
    """A tensor with `updates` at `indices` along `axis`, both of size 1 there, and 0 elsewhere."""

    indices: Value
    updates: Value
    axis: int

    @classmethod
    def of(cls, cotangent: Value) -> LabelScatter | None:
        """Return the parts of a cotangent that a ScatterElements into zeros makes, or None."""
        op = cotangent.value.owner
        if not isinstance(op, onnx.ScatterElementsOp) or not _is_zero(cotangent.e(op.data)):
            return None
        if not has_rank(op.indices):
            return None
        e, shape = cotangent.e, shape_of(op.indices)
        axis = axis_of(op.call().attribute("axis", 0), len(shape))
        return cls(e(op.indices), e(op.updates), axis) if shape[axis] == 1 else None

    def dense(self, like: Value) -> Value:
        """Return the tensor, in the shape of `like`."""
        zeros = self.updates.e.fill_like(0, like)
        return zeros.apply(onnx.ScatterElementsOp, self.indices, self.updates, axis=self.axis)

    def log_softmax_adjoint(self, y: Value, dense: Value | None = None) -> Value:
        """Return the VJP of y = LogSoftmax(x) along the axis for this tensor, plus a dense cotangent."""
        entries, axis = y.apply(onnx.GatherElementsOp, self.indices, axis=self.axis).exp(), self.axis
        total, here, others = self.updates, self.updates, None
        if dense is not None:
            row = _row(dense, axis)
            others = dense if row is None else row
            total = total + (others.sum_axes([axis], 1) if row is None else row * y.size(axis))
            here = here + (
                dense.apply(onnx.GatherElementsOp, self.indices, axis=axis) if row is None else row
            )
        share = -total
        product = y.exp() * share
        data = product if others is None else others + product
        return data.apply(onnx.ScatterElementsOp, self.indices, here + entries * share, axis=axis)


def split_cotangent(cotangent: Value) -> tuple[LabelScatter, Value | None] | None:
    """Return the scatter that a cotangent is, or has as a summand, and the other summand; or None."""
    op, e = cotangent.value.owner, cotangent.e
    if isinstance(op, onnx.AddOp):
        for one, other in ((op.A, op.B), (op.B, op.A)):
            if (found := LabelScatter.of(e(one))) is not None:
                return found, e(other)
    found = LabelScatter.of(cotangent)
    return None if found is None else (found, None)


def _row(x: Value, axis: int) -> Value | None:
    """Return a value that an Expand repeats along an axis, with size 1 there; or None."""
    op = x.value.owner
    if not isinstance(op, onnx.ExpandOp) or not has_rank(op.input):
        return None
    shape = shape_of(op.input)
    return x.e(op.input) if len(shape) == x.rank and shape[axis] == 1 else None


def _is_zero(x: Value) -> bool:
    op = x.value.owner
    value = op.input if isinstance(op, onnx.ExpandOp) else x.value
    known = constant_of(value)
    return known is not None and not known.any()
