"""canonicalize-layout: convolutions become channels-first, with ONNX's weight order.

1. NXC data is transposed to NCX before, and back after the op.
2. XIO weights become OIX, XOI weights IOX.
3. Grouped ConvTranspose weights in the page's layout (C/groups, O, ...) become (C, O/groups, ...).

Transposes that meet cancel, those of constants are folded. Resizes work on any axis and are left
alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from dialects.onednn.base import OneDNNConvOp
from dialects.onednn.conv_transpose import ConvTransposeBackwardDataOp
from dialects.onednn.convolution import ConvolutionBackwardDataOp
from dialects.onnx import ops as onnx
from dialects.support import layouts
from dialects.support.documented_op import build, documented_attributes
from dialects.support.shapes import shape_of
from passes.support.rewriting import Emitter, replace, rewrite, simplify
from passes.support.shape_math import ShapeMath


@dataclass(frozen=True)
class CanonicalizeLayoutPass(ModulePass):
    name = "canonicalize-layout"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [CanonicalizeConvLayout()])
        simplify(ctx, op)


class CanonicalizeConvLayout(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: ConvolutionBackwardDataOp | ConvTransposeBackwardDataOp, rewriter: PatternRewriter
    ) -> None:
        target = "OIX" if isinstance(op, ConvolutionBackwardDataOp) else "IOX"
        page_weights = isinstance(op, ConvTransposeBackwardDataOp) and op.problem().documented_weights
        given = (op.value("data_format"), op.value("weights_format"))
        if given == ("NCX", target) and not page_weights:
            return
        emit = Emitter()
        result = _canonical(op, target, emit)
        replace(op, rewriter, emit, result)


def _canonical(
    op: ConvolutionBackwardDataOp | ConvTransposeBackwardDataOp, target: str, emit: Emitter
) -> SSAValue:
    n = len(shape_of(op.diff_dst)) - 2
    data = op.value("data_format")
    diff_dst = emit(onnx.TransposeOp(op.diff_dst, perm=layouts.permutation(data, "NCX", n)))
    weights = emit(
        onnx.TransposeOp(op.weights, perm=layouts.permutation(op.value("weights_format"), target, n))
    )
    operands: list[SSAValue] = [diff_dst, weights]
    if isinstance(op, ConvTransposeBackwardDataOp) and op.problem().documented_weights:
        operands[1] = _library_weights(weights, op.value("groups"), emit)
    if isinstance(op, ConvolutionBackwardDataOp) and op.dst_shape_input is not None:
        indices = layouts.permutation(data, "NCX", n)
        operands.append(ShapeMath(emit).take(op.dst_shape_input, indices))
    declared = layouts.reorder(shape_of(op.diff_src), data, "NCX")
    result = build(
        type(op), operands, _canonical_attributes(op, target), result_shape=declared, location=op.location
    )
    back = layouts.permutation("NCX", data, n)
    return emit(onnx.TransposeOp(emit(result), perm=back))


def _canonical_attributes(op: OneDNNConvOp, target: str) -> dict:
    attributes = {name: op.value(name) for name in documented_attributes(type(op)) if op.is_given(name)}
    if "dst_shape" in attributes:
        attributes["dst_shape"] = layouts.reorder(attributes["dst_shape"], op.value("data_format"), "NCX")
    return attributes | {"data_format": "NCX", "weights_format": target}


def _library_weights(weights: SSAValue, groups: int, emit: Emitter) -> SSAValue:
    """(C/g, O, K...) to (C, O/g, K...): split O by group, move the groups in front, join them with C/g.

    Input channel i of group q is c = q C/g + i and output channel j of it o = q O/g + j, so
    library[q C/g + i, j] = page[i, q O/g + j].
    """
    per_group, out_channels, *kernel = (dim for dim in shape_of(weights) if isinstance(dim, int))
    split = emit.ints([per_group, groups, out_channels // groups, *kernel])
    joined = emit.ints([groups * per_group, out_channels // groups, *kernel])
    parts = emit(onnx.ReshapeOp(weights, split))
    perm = [1, 0, *range(2, len(kernel) + 3)]
    return emit(onnx.ReshapeOp(emit(onnx.TransposeOp(parts, perm=perm)), joined))
