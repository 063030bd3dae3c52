"""Canonicalization patterns of Reshape: one for two, with sizes that are constant and defined if empty."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from dialects.onnx import ops
from dialects.onnx.base import OnnxOp
from dialects.onnx.dims import ints, is_at_least
from dialects.onnx.identities import gives
from dialects.onnx.values import constant_of
from dialects.support import shapes
from dialects.support.interfaces import set_type


def replace_typed(op: OnnxOp, new: OnnxOp, rewriter: PatternRewriter, *before: OnnxOp) -> None:
    """Replace by an op that means the same, behind those that it reads.

    The declared type may know more than the inferred one.
    """
    declared = op.results[0].type
    assert isinstance(declared, TensorType)
    set_type(new.results[0], declared)
    rewriter.replace(op, [*before, new])


class ReshapeOfReshape(RewritePattern):
    """A Reshape to constant sizes needs only the elements, whatever shape they come in; back to the first one
    there is nothing to do."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ops.ReshapeOp, rewriter: PatternRewriter, /) -> None:
        inner = op.data.owner
        if not isinstance(inner, (ops.ReshapeOp, ops.SqueezeOp, ops.UnsqueezeOp)):
            return
        if inner.data.type == op.results[0].type and gives(op.call(), shapes.shape_of(inner.data)):
            rewriter.replace(op, [], [inner.data])
            return
        sizes = ints(op.call().operand(1).dims)
        if sizes is not None and all(
            self._is_kept(op, inner, axis) for axis, n in enumerate(sizes) if n == 0
        ):
            replace_typed(op, ops.ReshapeOp(inner.data, op.shape), rewriter)

    def _is_kept(self, op: ops.ReshapeOp, inner: OnnxOp, axis: int) -> bool:
        """Whether a 0, which copies a size of the shape that goes away, copies the same one then."""
        if op.call().attribute("allowzero", 0):
            return False
        before, after = (shapes.shape_of(value) for value in (inner.operands[0], inner.results[0]))
        return axis < len(before) and before[axis] == after[axis] is not None


class ReshapeByKnownSizes(RewritePattern):
    """A Reshape to computed sizes, of which each is a number or that of the operand at the same place, or all
    but one are positive numbers: ONNX has 0 and -1 for these, and nothing need be computed. A -1 among the
    sizes stays one beside those at the same place."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ops.ReshapeOp, rewriter: PatternRewriter, /) -> None:
        dims = op.call().operand(1).dims
        if dims is None or constant_of(op.shape) is not None:
            return
        copies = not op.call().attribute("allowzero", 0)
        sizes = _as_written(dims, shapes.shape_of(op.data), copies)
        if sizes is None:
            return
        shape = ops.ConstantOp(np.array(sizes, np.int64))
        replace_typed(op, ops.ReshapeOp(op.data, shape.output), rewriter, shape)


def _as_written(dims: Sequence[shapes.Dim], data: shapes.Shape, copies: bool) -> list[int] | None:
    """The entries of a Reshape's shape that mean these sizes, some of which only run time knows."""
    rest = [dim for dim in dims if isinstance(dim, int) and dim < 1]
    if None in dims or rest not in ([], [-1]) or (rest and not copies):
        return None
    unknown = [axis for axis, dim in enumerate(dims) if not isinstance(dim, int)]
    if all(axis < len(data) and data[axis] == dims[axis] for axis in unknown):
        return [dim if isinstance(dim, int) else 0 for dim in dims]
    one = len(unknown) == 1 and not rest
    return [dim if isinstance(dim, int) else -1 for dim in dims] if one else None


class ReshapeOfEmptyBatch(RewritePattern):
    """A -1 beside a 0 that copies a size is not defined where that size is 0. It is written as what it is: a
    number, or a 0 where it is the operand's size at the same place."""

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


class ReshapeOnce(RewritePattern):
    """What there is for Reshape: of an op that one of them replaces the next one sees the new op."""

    _patterns = (ReshapeOfReshape(), ReshapeByKnownSizes(), ReshapeOfEmptyBatch())

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        for pattern in self._patterns:
            if op.parent is not None:
                pattern.match_and_rewrite(op, rewriter)
