"""resize-dynamic-to-matmul: `grad.resize_backward_dynamic` with matrices computed in the graph."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.resize import ResizeBackwardDynamicOp
from dialects.onnx import ops as onnx
from dialects.onnx.values import dims_of
from dialects.support.shapes import Dim, element_type_of
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import contract
from passes.resize.axis_forms.base import MATRIX_SPREADS_NONFINITE
from passes.resize.sampling_matrix import NARROW_STEP, emit_matrix, runtime_samplings
from passes.strategies.base import Strategy, no_kernel
from passes.targets.target import Target

LITERAL_ZEROS = 14
"""First opset whose Reshape has `allowzero`."""


class ResizeDynamicToMatMul(Strategy):
    """One dense MatMul per axis with a matrix computed in the graph."""

    name: ClassVar[str] = "resize-dynamic-to-matmul"
    ops: ClassVar = (ResizeBackwardDynamicOp,)

    def refuses(self, op: ResizeBackwardDynamicOp, target: Target) -> str | None:
        return no_kernel(target, op.diff_dst, onnx.MatMulOp) or too_wide(op, target)

    def spreads_nonfinite(self, op: ResizeBackwardDynamicOp, target: Target) -> str | None:
        return MATRIX_SPREADS_NONFINITE

    def emit(self, op: ResizeBackwardDynamicOp, target: Target, emit: OpBuilder) -> SSAValue:
        emit = emit.narrowed(target.spec.narrow_integers is not None)
        value: SSAValue = op.diff_dst
        for axis, sampling in runtime_samplings(emit, op):
            matrix = emit_matrix(emit, sampling, element_type_of(op.diff_dst))
            value = contract(emit, value, axis, matrix, literal_zeros=target.opset >= LITERAL_ZEROS)
        return value


def too_wide(op: ResizeBackwardDynamicOp, target: Target) -> str | None:
    """Return why a static step needs wider integers than the target has, or None."""
    narrow = target.spec.narrow_integers
    if not narrow:
        return None
    numerators, denominators = (dims_of(v) or () for v in (op.step_numerators, op.step_denominators))
    for n, q in zip(numerators, denominators, strict=False):
        if max(part for part in (n, q, 0) if isinstance(part, int)) > NARROW_STEP:
            return (
                f"{narrow}, and a step of {_text(n)} / {_text(q)} needs more: give sizes "
                f"in place of scales, or scales that are ratios of numbers up to {NARROW_STEP}"
            )
    return None


def _text(part: Dim) -> str:
    return str(part) if isinstance(part, int) else "?"
