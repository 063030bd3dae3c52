"""fast-forms: what onnxruntime is quicker at, or fewer nodes, once nothing is differentiated any more.

A mask of 0 and 1 is `Cast(x > c)`: two nodes and a tensor of bool. On the CPU provider a HardSigmoid so steep
that c and the next numbers of f32 are on the two sides of its slope is one. At c = 0 no slope is so steep:
what is below 3e-39, where only subnormal numbers are, counts in part. NaN gives NaN. So only masks of a
derivative become steps, not a comparison of a model's own, and no pipeline for strict IEEE numbers has this
pass.

The rows of a matrix are added up by a product with ones, for a ReduceSum of the CPU provider takes up to ten
times as long (4 rows of 4,096 numbers: 10 us and 3; 2 of 100,000: 190 and 19; 197 of 768: 15 and 12; one
thread, 1.32). That is again done for sums of a derivative only: its rounding is another one.

An activation x g(x) is written so where its derivative computes g(x) anyhow: onnxruntime's kernel would
compute that once more.

A factor of exp(-q) that a derivative computes is in its argument, which is a difference then.

The smaller of x and 0 is a Min; a derivative writes it by a Relu, whose own derivative at 0 is 0.

The sizes of some axes are one Shape, from opset 15, and not entries of another one.
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
from passes.emit.expressions import EXPONENTIAL, MASK, SUM, Operators
from passes.emit.matching import bring_forward, equal_ops
from passes.emit.rewriting import Emitter, replace, rewrite
from passes.emit.steep_lines import Line, line_behind
from passes.emit.tensors import reshape
from passes.kernels.target import TargetPass
from passes.layout.orders import reduced_axes
from passes.vjp.common.forward import Forward
from passes.vjp.rules.pointwise import GATES

FEWEST = 2**12
"""Of fewer numbers a sum takes no longer than a product."""

MOST_ROWS = 2**12
"""For more rows the ones are too large."""

SHAPE_OF_SOME = 15
"""The opset from which on a Shape has a start and an end."""


@dataclass(frozen=True)
class FastFormsPass(TargetPass):
    name = "fast-forms"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.env.opset >= SHAPE_OF_SOME:
            rewrite(op, [SizesOfAxes()], (onnx.GatherOp,))
        if self.env.name != "cpu":
            return
        rewrite(op, [SumOfRows()], (onnx.ReduceSumOp,))
        rewrite(op, [ByGate()], tuple(GATES))
        rewrite(op, [FactorOfExp()], (onnx.MulOp,))
        rewrite(op, [NegativePart()], (onnx.NegOp,))
        if self.env.lacks(onnx.HardSigmoidOp, "f32") is None:
            rewrite(op, [MaskAsStep()], (onnx.CastOp,))


class MaskAsStep(RewritePattern):
    """Cast(x > c) and Cast(x < c) of gradc's own, where nothing else reads the comparison."""

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
        emit = Emitter()
        value = emit(onnx.HardSigmoidOp(x, alpha=alpha, beta=beta + 0.0))
        replace(op, rewriter, emit, [value])
        rewriter.erase(compared)


def _slope(bound: SSAValue) -> Line | None:
    """alpha and beta, exact in f32, of a line that is 0 at a bound, and 1 or more at the next number."""
    known = constant_of(bound)
    if known is None or known.size != 1:
        return None
    return line_behind(float(known.reshape(())))


class ByGate(RewritePattern):
    """x g(x), where all that makes g(x) is there."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, OnnxOp)
        block, x, e = op.parent, op.operands[0], Operators()
        assert block is not None
        GATES[type(op)](Forward(e, [e(x)], python_values(op.properties)))
        found = equal_ops(block, e.emit.ops)
        e.emit.discard()
        if found is None:
            return
        bring_forward(found, x)
        rewriter.replace(op, onnx.MulOp(x, found[-1].results[0]))


class FactorOfExp(RewritePattern):
    """c exp(-q) of gradc's own as exp(log c - q)."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.MulOp, rewriter: PatternRewriter, /) -> None:
        for value, factor in (op.operands, reversed(op.operands)):
            negated, number = _negated_argument(value), _positive_number(factor)
            if negated is None or number is None:
                continue
            emit = Emitter()
            offset = emit.constant(np.array(math.log(number), np.float32))
            argument = emit(onnx.SubOp(offset, negated.X))
            replace(op, rewriter, emit, [emit(onnx.ExpOp(argument))])
            assert isinstance(value.owner, Operation)
            rewriter.erase(value.owner)
            rewriter.erase(negated)
            return


class NegativePart(RewritePattern):
    """-relu(-x) as min(x, 0), where nothing else reads what is between."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.NegOp, rewriter: PatternRewriter, /) -> None:
        relu = op.X.owner
        if not isinstance(relu, onnx.ReluOp) or not op.X.has_one_use():
            return
        inner = relu.X.owner
        if not isinstance(inner, onnx.NegOp) or not relu.X.has_one_use():
            return
        e = Operators()
        least = e(inner.X).at_most(0)
        replace(op, rewriter, e.emit, [least.value])
        for unread in (relu, inner):
            rewriter.erase(unread)


def _negated_argument(value: SSAValue) -> onnx.NegOp | None:
    """Of an exponential of gradc's own that is read here only."""
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
    """A sum of gradc's own along the first axes, or those behind axes of size 1."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ReduceSumOp, rewriter: PatternRewriter, /) -> None:
        if SUM not in op.attributes or element_type_of(op.data) != f32:
            return
        sizes, axes = static_shape(op.data), reduced_axes(op)
        if sizes is None or not axes:
            return
        rows, columns = math.prod(sizes[: axes[-1] + 1]), math.prod(sizes[axes[-1] + 1 :])
        is_leading = rows == math.prod(sizes[axis] for axis in axes)
        if not is_leading or columns == 1 or rows > MOST_ROWS or rows * columns < FEWEST:
            return
        emit = Emitter()
        view = reshape(emit, op.data, (rows, columns))
        total = emit(onnx.MatMulOp(emit.constant(np.ones(rows, np.float32)), view))
        replace(op, rewriter, emit, [reshape(emit, total, static_shape(op.reduced) or ())])


class SizesOfAxes(RewritePattern):
    """Entries that a Shape has side by side. Of others a Gather fails, while a Shape is empty."""

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
        emit = Emitter()
        value = emit(onnx.ShapeOp(shape.data, start=first, end=first + len(taken)))
        replace(op, rewriter, emit, [value])
