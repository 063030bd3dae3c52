"""fast-masks: masks as onnxruntime's CPU provider is quick at them, once nothing is differentiated any more.

A mask of 0 and 1 is `Cast(x > 0)`: two nodes and a tensor of bool. A HardSigmoid so steep that every normal
number is beyond its slope is one. Between 0 and 3e-39, where only subnormal numbers are, it gives less than
1, and NaN gives NaN, so that no pipeline for strict IEEE numbers has this pass, and that only masks of a
derivative are replaced: a comparison of a model's own is what it was.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from dialects.onnx import ops as onnx
from dialects.onnx.values import constant_of
from dialects.support.shapes import element_type_of
from passes.emit.expressions import MASK
from passes.emit.rewriting import Emitter, replace, rewrite
from passes.kernels.target import TargetPass

STEEPEST = 3.4e38
"""The largest slope that f32 has."""


@dataclass(frozen=True)
class FastMasksPass(TargetPass):
    name = "fast-masks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.env.name == "cpu" and self.env.lacks(onnx.HardSigmoidOp, "f32") is None:
            rewrite(op, [PositiveAsStep()], (onnx.CastOp,))


class PositiveAsStep(RewritePattern):
    """Cast(x > 0), where nothing else reads the comparison."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.CastOp, rewriter: PatternRewriter, /) -> None:
        compared = op.input.owner
        if (
            MASK not in op.attributes
            or not isinstance(compared, onnx.GreaterOp)
            or not op.input.has_one_use()
        ):
            return
        x, bound = compared.operands
        if any(element_type_of(value) != f32 for value in (x, op.output)) or x.type != op.output.type:
            return
        zero = constant_of(bound)
        if zero is None or zero.any():
            return
        emit = Emitter()
        value = emit(onnx.HardSigmoidOp(x, alpha=STEEPEST, beta=0.0))
        replace(op, rewriter, emit, [value])
        rewriter.erase(compared)
