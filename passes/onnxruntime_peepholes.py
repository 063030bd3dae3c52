"""onnxruntime-peepholes: faster or smaller graphs for onnxruntime, after all differentiation.

A mask of 0 and 1 is `Cast(x > c)`: two nodes and a bool tensor. On the CPU provider it becomes one
HardSigmoid so steep that c and the next f32 numbers are on both sides of its slope. For c = 0 no slope is
steep enough: subnormal numbers below 3e-39 count in part. NaN gives NaN. So only masks of a derivative are
replaced, not comparisons of the model, and the pass is not used for strict IEEE numbers.

The rows of a matrix are summed by a product with ones, as a ReduceSum of the CPU provider takes up to ten
times as long (4 rows of 4,096 numbers: 10 us and 3; 2 of 100,000: 190 and 19; 197 of 768: 15 and 12; one
thread, 1.32). This applies to sums of a derivative only, as the rounding differs.

An activation x g(x) is expanded if its derivative computes g(x) anyway: onnxruntime's kernel would compute it
again.

A factor of exp(-q) in a derivative is moved into its argument, which becomes a difference.

A Softplus of many numbers becomes ten other ops, since onnxruntime computes exponential and logarithm of
each number by itself (64 numbers: 0.6 times as fast, 512: 1.4, 4,096: 3.3, a million: 3.1; 1.32). The error
is the same.

Sums of disjoint padded parts become a Concat, and sums of products become products of matrices.

min(x, 0) becomes a Min; a derivative uses Relu, whose own derivative at 0 is 0.

The sizes of some axes are one Shape, from opset 15 on, instead of entries of a whole Shape.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from dialects.onnx import ops as onnx
from dialects.onnx.attributes import python_values
from dialects.onnx.base import OnnxOp
from dialects.onnx.values import constant_of
from dialects.support.shapes import element_type_of, has_rank, shape_of, static_shape
from passes.autodiff.common.gates import GATES
from passes.autodiff.common.primal import Primal
from passes.builder.equal_ops import bring_forward, equal_ops
from passes.builder.op_builder import OpBuilder
from passes.builder.rewriting import replace, rewrite
from passes.builder.step_as_hard_sigmoid import Line, line_behind
from passes.builder.tensors import reshape
from passes.builder.values import EXPONENTIAL, MASK, SUM, Builder
from passes.decompositions.missing_kernels.pointwise import softplus
from passes.decompositions.registry import decompose
from passes.layout.orders import reduction_axes
from passes.peepholes.disjoint_pads import SumOfDisjointParts
from passes.peepholes.summed_products import SumOfProducts
from passes.targets.target import TargetPass

FEWEST = 2**12
"""Least number of elements for which a product is faster than a sum."""

FEWEST_OF_SOFTPLUS = 2**9
"""Least number of elements for which other ops are faster than a Softplus."""

MOST_ROWS = 2**12
"""Limit on the rows: the ones would be too large."""

SHAPE_OF_SOME = 15
"""First opset whose Shape has `start` and `end`."""


@dataclass(frozen=True)
class OnnxruntimePeepholesPass(TargetPass):
    name = "onnxruntime-peepholes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.env.opset >= SHAPE_OF_SOME:
            rewrite(op, [SizesOfAxes()], (onnx.GatherOp,))
        rewrite(op, [SumOfDisjointParts()], (onnx.AddOp,))
        if not self.env.spec.peepholes:
            return
        rewrite(op, [SumOfProducts()], (onnx.ReduceSumOp,))
        rewrite(op, [SumOfRows()], (onnx.ReduceSumOp,))
        rewrite(op, [ByGate()], tuple(GATES))
        rewrite(op, [FactorOfExp()], (onnx.MulOp,))
        rewrite(op, [NegativePart()], (onnx.NegOp,))
        rewrite(op, [SoftplusOfMany()], (onnx.SoftplusOp,))
        if self.env.lacks(onnx.HardSigmoidOp, "f32") is None:
            rewrite(op, [MaskAsStep()], (onnx.CastOp,))


class MaskAsStep(RewritePattern):
    """Replace Cast(x > c) and Cast(x < c) of a derivative if nothing else reads the comparison."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.CastOp, rewriter: PatternRewriter, /) -> None:
        compared = op.input.owner
        if not isinstance(compared, onnx.GreaterOp | onnx.LessOp):
            return
        if MASK not in op.attributes or not op.input.has_one_use():
            return
        x, bound = compared.operands
        if element_type_of(x) != f32 or x.type != op.output.type:
            return
        slope = _slope(bound)
        if slope is None:
            return
        alpha, beta = slope if isinstance(compared, onnx.GreaterOp) else (-slope[0], -slope[1])
        emit = OpBuilder()
        value = emit(onnx.HardSigmoidOp(x, alpha=alpha, beta=beta + 0.0))
        replace(op, rewriter, emit, [value])
        rewriter.erase(compared)


def _slope(bound: SSAValue) -> Line | None:
    """Return (alpha, beta), exact in f32, of a line that is 0 at a bound and 1 or more after it."""
    known = constant_of(bound)
    if known is None or known.size != 1:
        return None
    return line_behind(float(known.reshape(())))


class ByGate(RewritePattern):
    """Replace an activation by x g(x) if the ops of g(x) exist."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, OnnxOp)
        block, x, e = op.parent, op.operands[0], Builder()
        assert block is not None
        GATES[type(op)](Primal(e, [e(x)], python_values(op.properties)))
        found = equal_ops(block, e.emit.ops)
        e.emit.discard()
        if found is None:
            return
        bring_forward(found, x)
        rewriter.replace(op, onnx.MulOp(x, found[-1].results[0]))


class FactorOfExp(RewritePattern):
    """Replace c exp(-q) of a derivative by exp(log c - q)."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.MulOp, rewriter: PatternRewriter, /) -> None:
        for value, factor in (op.operands, reversed(op.operands)):
            negated, number = _negated_argument(value), _positive_number(factor)
            if negated is None or number is None:
                continue
            emit = OpBuilder()
            offset = emit.constant(np.array(math.log(number), np.float32))
            argument = emit(onnx.SubOp(offset, negated.X))
            replace(op, rewriter, emit, [emit(onnx.ExpOp(argument))])
            assert isinstance(value.owner, Operation)
            rewriter.erase(value.owner)
            rewriter.erase(negated)
            return


class SoftplusOfMany(RewritePattern):
    """Replace a Softplus unless it has a static number of elements below FEWEST_OF_SOFTPLUS."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SoftplusOp, rewriter: PatternRewriter, /) -> None:
        if element_type_of(op.X) != f32:
            return
        sizes = static_shape(op.X) if has_rank(op.X) else None
        if sizes is not None and math.prod(sizes) < FEWEST_OF_SOFTPLUS:
            return
        emit = OpBuilder()
        results = decompose(softplus, op, emit)
        assert results is not None
        replace(op, rewriter, emit, results)


class NegativePart(RewritePattern):
    """Replace -relu(-x) by min(x, 0) if nothing else reads the intermediate values."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.NegOp, rewriter: PatternRewriter, /) -> None:
        relu = op.X.owner
        if not isinstance(relu, onnx.ReluOp) or not op.X.has_one_use():
            return
        inner = relu.X.owner
        if not isinstance(inner, onnx.NegOp) or not relu.X.has_one_use():
            return
        e = Builder()
        least = e(inner.X).at_most(0)
        replace(op, rewriter, e.emit, [least.value])
        for unread in (relu, inner):
            rewriter.erase(unread)


def _negated_argument(value: SSAValue) -> onnx.NegOp | None:
    """Return the Neg in an exponential of a derivative, if both have no other reader."""
    made = value.owner
    if not isinstance(made, onnx.ExpOp) or EXPONENTIAL not in made.attributes:
        return None
    negated = made.input.owner
    is_free = value.has_one_use() and made.input.has_one_use()
    return negated if is_free and isinstance(negated, onnx.NegOp) else None


def _positive_number(value: SSAValue) -> float | None:
    known = constant_of(value)
    if known is None or known.size != 1 or known.ndim or element_type_of(value) != f32:
        return None
    number = float(known)
    return number if number > 0 and math.isfinite(number) else None


class SumOfRows(RewritePattern):
    """Replace a derivative's sum over leading axes, or those after axes of size 1, by a product with ones."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ReduceSumOp, rewriter: PatternRewriter, /) -> None:
        if SUM not in op.attributes or element_type_of(op.data) != f32:
            return
        sizes, axes = static_shape(op.data), reduction_axes(op)
        if sizes is None or not axes:
            return
        rows, columns = math.prod(sizes[: axes[-1] + 1]), math.prod(sizes[axes[-1] + 1 :])
        is_leading = rows == math.prod(sizes[axis] for axis in axes)
        if not is_leading or columns == 1 or rows > MOST_ROWS or rows * columns < FEWEST:
            return
        emit = OpBuilder()
        view = reshape(emit, op.data, (rows, columns))
        total = emit(onnx.MatMulOp(emit.constant(np.ones(rows, np.float32)), view))
        replace(op, rewriter, emit, [reshape(emit, total, static_shape(op.reduced) or ())])


class SizesOfAxes(RewritePattern):
    """Replace a Gather of adjacent sizes by a Shape, if in range: else Gather fails, Shape is empty."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.GatherOp, rewriter: PatternRewriter, /) -> None:
        shape, taken = op.data.owner, constant_of(op.indices)
        if not isinstance(shape, onnx.ShapeOp) or taken is None or taken.ndim != 1 or not taken.size:
            return
        first = int(taken[0])
        in_order = first >= 0 and list(taken) == list(range(first, first + len(taken)))
        if not in_order or shape.start is not None or shape.end is not None:
            return
        if not has_rank(shape.data) or taken[-1] >= len(shape_of(shape.data)):
            return
        emit = OpBuilder()
        value = emit(onnx.ShapeOp(shape.data, start=first, end=first + len(taken)))
        replace(op, rewriter, emit, [value])
