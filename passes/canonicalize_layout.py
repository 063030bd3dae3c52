"""canonicalize-layout: convert the weights of convolutions to ONNX's layout.

1. XIO weights become OIX, XOI weights IOX.
2. Grouped ConvTranspose weights in the specified layout (C/groups, O, ...) become (C, O/groups, ...).

Transposes of constants are folded. The data is unchanged: the canonical ops support both layouts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from dialects.onnx import ops as onnx
from dialects.support import layouts
from dialects.support.documented_op import Declared, build, documented_attributes
from dialects.support.shapes import shape_of
from passes.builder.op_builder import OpBuilder
from passes.builder.rewriting import replace, rewrite
from passes.simplify import simplify

if TYPE_CHECKING:
    from dialects.onednn.conv_backward_data import ConvolutionBackwardDataOp
    from dialects.onednn.conv_transpose_backward_data import ConvTransposeBackwardDataOp

    ConvOp: TypeAlias = ConvolutionBackwardDataOp | ConvTransposeBackwardDataOp

CONVOLUTIONS = ("onednn.convolution_backward_data", "onednn.conv_transpose_backward_data")
"""By their names: the dialect's classes are imported for graphs that have its ops."""


@dataclass(frozen=True)
class CanonicalizeLayoutPass(ModulePass):
    name = "canonicalize-layout"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if any(inner.name in CONVOLUTIONS for inner in op.walk()):
            rewrite(op, [CanonicalizeConvLayout()])
        simplify(op)


class CanonicalizeConvLayout(RewritePattern):
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if op.name in CONVOLUTIONS:
            _canonicalize(cast("ConvOp", op), rewriter)


def _canonicalize(op: ConvOp, rewriter: PatternRewriter) -> None:
    from dialects.onednn.conv_backward_data import ConvolutionBackwardDataOp
    from dialects.onednn.conv_transpose_backward_data import ConvTransposeBackwardDataOp

    target = "OIX" if isinstance(op, ConvolutionBackwardDataOp) else "IOX"
    page_weights = isinstance(op, ConvTransposeBackwardDataOp) and op.problem().documented_weights
    if op.weights_format == target and not page_weights:
        return
    emit = OpBuilder()
    weights = _canonical_weights(op, target, page_weights, emit)
    given = {name: op.value(name) for name in documented_attributes(type(op)) if op.is_given(name)}
    result = build(
        type(op),
        [op.diff_dst, weights, *op.operands[2:]],
        given | {"weights_format": target},
        declared=[Declared(shape_of(op.diff_src))],
        location=op.location,
    )
    replace(op, rewriter, emit, [emit(result)])


def _canonical_weights(op: ConvOp, target: str, page_weights: bool, emit: OpBuilder) -> SSAValue:
    n = len(shape_of(op.weights)) - 2
    perm = layouts.permutation(op.weights_format, target, n)
    weights = emit(onnx.TransposeOp(op.weights, perm=perm))
    if not page_weights:
        return weights
    from passes.lower_onednn.conv import library_weights

    return library_weights(weights, op.groups, emit)
