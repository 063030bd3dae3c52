"""Sums of products in which one factor repeats along an axis, as matrix products.

ReduceSum(a * b) over axes that both factors have is a product of matrices if one factor lacks an axis of the
result. Otherwise, the product of all elements is written to memory and read again. The tables have the times
of the two ops divided by those of a MatMul (onnxruntime 1.32, one thread, f32):

    sizes of the factors, summed axis       ratio
    [1024, 20] [1, 20], 1                    3.6
    [1024, 64] [1024, 1], 0                  4.4
    [64, 64, 1] [64, 64], 1                   12
    [1024, 16, 128] [1024, 16, 1], 1         2.5
    [2048, 8, 4] [2048, 8, 1], 1             1.4
    [256, 16, 8] [256, 1, 8], 2              1.6
    [1024, 9, 32] [1024, 1, 32], 2           1.3 (1.05 with a constant factor of the result, which is fused)
    [1024, 3, 64] [1024, 1, 64], 2           0.66
    [1024, 64] [1024, 64], 1                0.08

Each product of a batch costs some 90 ns: a batch of small ones, or of dot products, is slower.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from dialects.onnx import ops as onnx
from dialects.support.shapes import Dim, Shape, element_type_of, has_rank, shape_of
from passes.builder.op_builder import OpBuilder
from passes.builder.rewriting import replace
from passes.layout.orders import reduction_axes

FEWEST = 2**10
"""Least number of products of elements."""

FEWEST_IN_A_BATCH = 2**9
"""Least number of products of elements for each entry of a batch."""

FEWEST_ROWS = 8
"""Least number of rows of a matrix in a batch behind a vector; before a vector it is twice as many."""

MOST_TERMS = 2**16
"""Limit on the terms of one sum: a MatMul adds them up in order."""

ASSUMED = 64
"""Size assumed for a dynamic axis."""


class SumOfProducts(RewritePattern):
    """Replace ReduceSum(a * b) by a MatMul if that is faster and needs no other Transpose than of a matrix,
    which onnxruntime fuses into the product."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ReduceSumOp, rewriter: PatternRewriter, /) -> None:
        mul = op.data.owner
        if not isinstance(mul, onnx.MulOp) or not op.data.has_one_use() or element_type_of(op.data) != f32:
            return
        if not all(map(has_rank, (*mul.operands, op.reduced))):
            return
        plan = _plan(mul, reduction_axes(op))
        if plan is None or not plan.is_faster():
            return
        emit = OpBuilder()
        result = plan.write(emit, shape_of(op.reduced))
        if result is None:
            emit.discard()
            return
        replace(op, rewriter, emit, [result])
        rewriter.erase(mul)


@dataclass(frozen=True)
class _Plan:
    """The axes of a product of matrices: those of the batch, of the rows of the left factor, of the columns
    of the right one, and the summed ones. `sizes` has the size of each."""

    left: SSAValue
    right: SSAValue
    sizes: Shape
    batch: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    summed: tuple[int, ...]

    def count(self, axes: Sequence[int]) -> int:
        sizes = [self.sizes[axis] for axis in axes]
        return math.prod(size if isinstance(size, int) else ASSUMED for size in sizes)

    def is_faster(self) -> bool:
        work, count = self.count((*self.rows, *self.columns, *self.summed)), self.count(self.batch)
        return work * count >= FEWEST and (count == 1 or work >= FEWEST_IN_A_BATCH or self._is_long())

    def _is_long(self) -> bool:
        """Return whether a vector before a matrix, or behind one, meets many rows of it."""
        if not self.rows:
            return self.count(self.summed) >= FEWEST_ROWS
        return not self.columns and self.count(self.rows) >= 2 * FEWEST_ROWS

    def write(self, emit: OpBuilder, result: Shape) -> SSAValue | None:
        """Return the product in the shape of the result; None if no Reshape can have its dynamic sizes."""
        left = self._matrix(emit, self.left, self.rows, self.summed)
        right = None if left is None else self._matrix(emit, self.right, self.summed, self.columns)
        if left is None or right is None:
            return None
        return _reshape(emit, emit(onnx.MatMulOp(left, right)), result)

    def _matrix(
        self, emit: OpBuilder, value: SSAValue, first: Sequence[int], second: Sequence[int]
    ) -> SSAValue | None:
        """Return a factor as a batch of matrices with these groups of axes."""
        is_turned = bool(first and second) and first[0] > second[0]
        groups = (second, first) if is_turned else (first, second)
        sizes = [*(self.sizes[axis] for axis in self.batch), *map(self._group_size, groups)]
        matrix = _reshape(emit, value, sizes)
        if matrix is None or not is_turned:
            return matrix
        if not _are_static(sizes):
            return None  # quirk transposed-factor-of-an-empty-batch
        *others, row, column = range(len(sizes))
        return emit(onnx.TransposeOp(matrix, perm=[*others, column, row]))

    def _group_size(self, axes: Sequence[int]) -> Dim:
        """Return the size of a group of axes as one; None if it is dynamic and not that of one axis."""
        sizes = [self.sizes[axis] for axis in axes]
        if len(sizes) == 1:
            return sizes[0]
        return math.prod(size for size in sizes if isinstance(size, int)) if _are_static(sizes) else None


def _are_static(sizes: Sequence[Dim]) -> bool:
    return all(isinstance(size, int) for size in sizes)


def _plan(mul: onnx.MulOp, reduced: Sequence[int]) -> _Plan | None:
    """Return the axes of a sum of products as those of a product of matrices, or None."""
    sizes = shape_of(mul.C)
    a, b = ((1,) * (len(sizes) - len(shape_of(x))) + shape_of(x) for x in mul.operands)
    axes = [axis for axis in range(len(sizes)) if (a[axis], b[axis]) != (1, 1)]
    shared = [axis for axis in axes if 1 not in (a[axis], b[axis])]
    if None in sizes or any(a[axis] != b[axis] for axis in shared):
        return None
    rows = tuple(axis for axis in axes if b[axis] == 1)
    columns = tuple(axis for axis in axes if a[axis] == 1)
    summed = tuple(axis for axis in shared if axis in reduced)
    batch = tuple(axis for axis in shared if axis not in reduced)
    if any(axis in reduced for axis in (*rows, *columns)) or not (rows or columns):
        return None
    terms = [sizes[axis] for axis in summed]
    if not terms or not _are_static(terms):
        return None
    left, right = mul.operands
    if _is_swapped(rows, columns, summed):
        left, right, rows, columns = right, left, columns, rows
    plan = _Plan(left, right, sizes, batch, rows, columns, summed)
    return plan if _is_in_order(plan) and 0 < plan.count(summed) <= MOST_TERMS else None


def _is_swapped(rows: Sequence[int], columns: Sequence[int], summed: Sequence[int]) -> bool:
    """Return whether the second factor is the left one: by the order of the result's axes, or as a vector
    before a matrix with the summed axes first, which needs no Transpose then."""
    if rows and columns:
        return rows[0] > columns[0]
    return rows[0] > summed[0] if rows else columns[0] < summed[0]


def _is_in_order(plan: _Plan) -> bool:
    """Return whether the axes of both factors and of the result are those of matrices in a batch."""
    others = (*plan.rows, *plan.columns, *plan.summed)
    pairs = ((plan.rows, plan.columns), (plan.rows, plan.summed), (plan.columns, plan.summed))
    is_behind_batch = max(plan.batch, default=-1) < min(others)
    return is_behind_batch and _precedes(*pairs[0]) and all(_are_apart(*pair) for pair in pairs[1:])


def _precedes(one: Sequence[int], other: Sequence[int]) -> bool:
    return max(one, default=-1) < min(other, default=math.inf)


def _are_apart(one: Sequence[int], other: Sequence[int]) -> bool:
    return _precedes(one, other) or _precedes(other, one)


def _reshape(emit: OpBuilder, value: SSAValue, sizes: Sequence[Dim]) -> SSAValue | None:
    """Reshape to sizes of which some are copied from the same index, or one is inferred; None if neither."""
    if None in sizes:
        return None
    value = _before_reshapes(value)
    given = shape_of(value)
    if tuple(sizes) == given:
        return value
    entries = [_entry(dim, given[axis : axis + 1]) for axis, dim in enumerate(sizes)]
    if entries.count(-1) > 1 or (-1 in entries and 0 in entries):
        return None
    return emit(onnx.ReshapeOp(value, emit.ints(entries)))


def _entry(dim: Dim, own: Sequence[Dim]) -> int:
    """Return the entry of a Reshape for a size: 0 copies the size of the same axis, -1 infers it."""
    if isinstance(dim, int):
        return dim
    return 0 if list(own) == [dim] else -1


def _before_reshapes(value: SSAValue) -> SSAValue:
    """Return the value of which this one is a view with other axes."""
    while isinstance(value.owner, onnx.ReshapeOp | onnx.SqueezeOp | onnx.UnsqueezeOp):
        if not has_rank(value.owner.operands[0]):
            break
        value = value.owner.operands[0]
    return value
