"""expand-ops: decompose ops that the target or the opset does not support into supported ones.

For example, the CUDA provider has no Pad from opset 19 on: a Concat with zeros replaces it. Ops without a
decomposition are reported by legalize-onnx; those that run in a wider type are widened by legalize-types.

Also inserts a Max with -inf between a Relu or a Clip and a QuantizeLinear to other dtypes than s8 and u8: see
the quirk bounds-before-quantization.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from dialects.onnx import ops as onnx
from dialects.onnx import traits
from dialects.onnx.base import OnnxOp
from dialects.onnx.ops import op_class
from dialects.support.dtypes import name_of, of_mlir
from dialects.support.shapes import element_type_of
from passes.builder.op_builder import OpBuilder
from passes.builder.rewriting import replace, rewrite
from passes.decompositions.missing_kernels.empty_expand import EmptyExpand
from passes.decompositions.missing_kernels.matrix_vector import VectorAsColumn
from passes.decompositions.older_opsets.excluded_windows import POOLS, SKIPPED_FROM_OPSET, WithoutCeilMode
from passes.decompositions.registry import Body, Reason, decompose, decomposition_of, table_of
from passes.simplify import simplify
from passes.targets.target import Target, TargetPass


@dataclass(frozen=True)
class ExpandOpsPass(TargetPass):
    name = "expand-ops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        spec = self.env.spec
        rewrite(op, [KeepBounds()], (onnx.QuantizeLinearOp,))
        if self.env.opset < SKIPPED_FROM_OPSET or not spec.skips_excluded_windows:
            rewrite(op, [WithoutCeilMode()], POOLS)
        changed = rewrite(op, [VectorAsColumn(), EmptyExpand()], (onnx.MatMulOp, onnx.ExpandOp))
        names = {*table_of(Reason.MISSING_KERNEL), *table_of(Reason.OLDER_OPSET)}
        ops = (*map(op_class, names), *spec.form_quirks)
        while rewrite(op, [Expand(self.env)], ops):
            changed = True  # and again for graphs within the new ops
        if changed:
            simplify(op)


@dataclass
class Expand(RewritePattern):
    target: Target

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, OnnxOp):
            return
        body, emit = self._body(op), OpBuilder()
        values = None if body is None else decompose(body, op, emit)
        if values is not None:
            replace(op, rewriter, emit, values)

    def _body(self, op: OnnxOp) -> Body | None:
        older, form = decomposition_of(op.onnx_name(), Reason.OLDER_OPSET), self.target.spec.form_quirk(op)
        if form is not None and form.body is None:
            return None
        if older is not None and not self.target.has_form(op):
            return older.body
        if not self.target.expands(op):
            return None
        if form is not None:
            return form.body
        found = decomposition_of(op.onnx_name(), Reason.MISSING_KERNEL)
        return None if found is None else found.body


class KeepBounds(RewritePattern):
    """Insert the Max; onnxruntime may swap ops that move elements with the QuantizeLinear."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.QuantizeLinearOp, rewriter: PatternRewriter, /) -> None:
        dtype = of_mlir(element_type_of(op.x))
        if dtype is None or name_of(element_type_of(op.y)) in ("s8", "u8") or not _is_bounded(op.x):
            return
        emit = OpBuilder()
        least = emit.constant(np.array(-np.inf, dtype.numpy))
        op.operands[0] = emit(onnx.MaxOp([op.x, least]))
        for added in emit.ops:
            added.location = op.location
        rewriter.insert(emit.ops)
        rewriter.notify_op_modified(op)


def _is_bounded(value: SSAValue) -> bool:
    while isinstance(value.owner, OnnxOp) and value.owner.onnx_name() in SWAPPED:
        value = value.owner.operands[0]
    return isinstance(value.owner, onnx.ClipOp | onnx.ReluOp)


SWAPPED = traits.VIEWS | {"Transpose"}
