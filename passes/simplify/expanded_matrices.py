"""Products with expanded matrices.

MatMul broadcasts a batch of matrices itself, so that an Expand of the batch is not needed. Then onnxruntime
computes one product of more rows instead of one for each entry ([64, 3, 64] by a matrix: 5 times as fast;
[8, 64, 128] by a matrix: 1.3 times; 1.32, one thread).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from dialects.onnx import ops
from dialects.onnx.base import OnnxOp
from dialects.onnx.dims import is_at_least
from dialects.onnx.identities import perm_of
from dialects.support.interfaces import set_type
from dialects.support.shapes import Shape, shape_of, static


class DropExpandOfMatrices(RewritePattern):
    """Multiply by the matrices before an Expand of their batch, whose axes a Reshape may have merged and
    which may have been transposed, unless the batch may be empty (quirk product-of-an-empty-batch)."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ops.MatMulOp, rewriter: PatternRewriter, /) -> None:
        result = shape_of(op.Y)
        if not all(is_at_least(dim, 1) for dim in result[:-2]):
            return
        for index, operand in enumerate(op.operands):
            found = _find(operand)
            if found is None:
                continue
            write, other = _Ops(), op.operands[1 - index]
            if found.merged is not None:
                if shape_of(other)[:-2] != (math.prod(found.merged),):
                    continue
                other = write.reshape(other, (*found.merged, *shape_of(other)[-2:]))
            factors = (found.write(write), other)
            product = write(ops.MatMulOp(*(factors if index == 0 else reversed(factors))))
            wanted = result if found.merged is None else (*found.merged, *result[-2:])
            if shape_of(product) == wanted and None not in result:
                value = product if found.merged is None else write.reshape(product, result)
                set_type(value, op.Y.type)
                rewriter.replace(op, write.ops, [value])
                return
            write.discard()


@dataclass(frozen=True)
class _Matrices:
    """Matrices before an Expand of their batch. `merged`: the sizes of its axes if a Reshape merged them."""

    value: SSAValue
    merged: tuple[int, ...] | None
    is_transposed: bool

    def write(self, write: _Ops) -> SSAValue:
        if not self.is_transposed:
            return self.value
        *others, row, column = range(len(shape_of(self.value)))
        return write(ops.TransposeOp(self.value, perm=[*others, column, row]))


def _find(operand: SSAValue) -> _Matrices | None:
    """Return the matrices of an operand that an Expand repeats, or None."""
    op, is_transposed = operand.owner, False
    if isinstance(op, ops.TransposeOp) and _swaps_last(perm_of(op.call())):
        op, is_transposed = op.data.owner, True
    reshape = op if isinstance(op, ops.ReshapeOp) else None
    op = op if reshape is None else reshape.data.owner
    if not isinstance(op, ops.ExpandOp):
        return None
    given, shape = shape_of(op.input), shape_of(op.output)
    if len(given) < 2 or given[-2:] != shape[-2:] or None in shape or given == shape:
        return None
    if reshape is None:
        return _Matrices(op.input, None, is_transposed)
    sizes = static(shape)
    if sizes is None or shape_of(reshape.reshaped) != (math.prod(sizes[:-2]), *sizes[-2:]):
        return None
    return _Matrices(op.input, sizes[:-2], is_transposed)


def _swaps_last(perm: Sequence[int]) -> bool:
    rank = len(perm)
    return rank > 1 and list(perm) == [*range(rank - 2), rank - 1, rank - 2]


class _Ops:
    """New ops in the order of their creation."""

    def __init__(self) -> None:
        self.ops: list[OnnxOp] = []

    def __call__(self, op: OnnxOp) -> SSAValue:
        self.ops.append(op)
        return op.results[0]

    def reshape(self, value: SSAValue, shape: Shape) -> SSAValue:
        """Reshape to a static shape."""
        return self(ops.ReshapeOp(value, self(ops.ConstantOp(np.array(shape, np.int64)))))

    def discard(self) -> None:
        for op in self.ops:
            op.drop_all_references()
