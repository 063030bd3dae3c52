"""Canonicalization of Reshape: fusion of pairs, constant sizes, and sizes defined for empty batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from dialects.onnx import ops
from dialects.onnx.base import OnnxOp
from dialects.onnx.dims import ints, is_at_least
from dialects.onnx.identities import infers_shape
from dialects.onnx.values import constant_of
from dialects.support import shapes
from dialects.support.interfaces import set_type


def replace_typed(op: OnnxOp, new: OnnxOp, rewriter: PatternRewriter, *before: OnnxOp) -> None:
    """Replace an op by an equivalent one, after the ops that this reads.

    It gets the declared type, which may be more precise than the inferred one.
    """
    declared = op.results[0].type
    assert isinstance(declared, TensorType)
    set_type(new.results[0], declared)
    rewriter.replace(op, [*before, new])


class ReshapeOfReshape(RewritePattern):
    """Fuse a Reshape to constant sizes with a preceding one; drop both if the first shape is restored."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ops.ReshapeOp, rewriter: PatternRewriter, /) -> None:
        inner = op.data.owner
        if not isinstance(inner, (ops.ReshapeOp, ops.SqueezeOp, ops.UnsqueezeOp)):
            return
        if inner.data.type == op.results[0].type and infers_shape(op.call(), shapes.shape_of(inner.data)):
            rewriter.replace(op, [], [inner.data])
            return
        sizes = ints(op.call().operand(1).dims)
        if sizes is not None and all(
            self._is_kept(op, inner, axis) for axis, n in enumerate(sizes) if n == 0
        ):
            replace_typed(op, ops.ReshapeOp(inner.data, op.shape), rewriter)

    def _is_kept(self, op: ops.ReshapeOp, inner: OnnxOp, axis: int) -> bool:
        """Return whether a 0, which copies a size, copies the same one from the earlier shape."""
        if op.call().attribute("allowzero", 0):
            return False
        before, after = (shapes.shape_of(value) for value in (inner.operands[0], inner.results[0]))
        return axis < len(before) and before[axis] == after[axis] is not None


class ReshapeByKnownSizes(RewritePattern):
    """Replace computed sizes by a constant, with 0 for sizes of the operand at the same index, or -1 for the
    only unknown size if the others are positive. An existing -1 may stay with zeros."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ops.ReshapeOp, rewriter: PatternRewriter, /) -> None:
        dims = op.call().operand(1).dims
        if dims is None or constant_of(op.shape) is not None:
            return
        copies = not op.call().attribute("allowzero", 0)
        sizes = _static_entries(dims, shapes.shape_of(op.data), copies)
        if sizes is None:
            return
        shape = ops.ConstantOp(np.array(sizes, np.int64))
        replace_typed(op, ops.ReshapeOp(op.data, shape.output), rewriter, shape)


def _static_entries(dims: Sequence[shapes.Dim], data: shapes.Shape, copies: bool) -> list[int] | None:
    """Return entries of a Reshape's shape for sizes that are partly dynamic, or None."""
    rest = [dim for dim in dims if isinstance(dim, int) and dim < 1]
    if None in dims or rest not in ([], [-1]) or (rest and not copies):
        return None
    unknown = [axis for axis, dim in enumerate(dims) if not isinstance(dim, int)]
    if all(axis < len(data) and data[axis] == dims[axis] for axis in unknown):
        return [dim if isinstance(dim, int) else 0 for dim in dims]
    one = len(unknown) == 1 and not rest
    return [dim if isinstance(dim, int) else -1 for dim in dims] if one else None


class ReshapeOfEmptyBatch(RewritePattern):
    """Replace a -1 that occurs with a 0, which is undefined if the copied size is 0, by a number, or by a 0
    if it is the operand's size at the same index."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ops.ReshapeOp, rewriter: PatternRewriter, /) -> None:
        given = constant_of(op.shape)
        if given is None or -1 not in given or op.call().attribute("allowzero", 0):
            return
        data, axis = shapes.shape_of(op.data), [*given].index(-1)
        if all(is_at_least(data[i], 1) for i, entry in enumerate(given) if not entry):
            return
        dim = shapes.shape_of(op.results[0])[axis]
        number = dim if isinstance(dim, int) and dim > 0 else None
        is_kept = axis < len(data) and dim is not None and dim == data[axis]
        if number is None and not is_kept:
            return
        shape = ops.ConstantOp(np.where(given == -1, number or 0, given))
        replace_typed(op, ops.ReshapeOp(op.data, shape.output), rewriter, shape)


class CanonicalizeReshape(RewritePattern):
    """Apply all Reshape patterns; if one replaces an op, the others see the new op later."""

    _patterns = (ReshapeOfReshape(), ReshapeByKnownSizes(), ReshapeOfEmptyBatch())

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        for pattern in self._patterns:
            if op.parent is not None:
                pattern.match_and_rewrite(op, rewriter)
