"""resize-dynamic-to-gathered-sum: `grad.resize_backward_dynamic` by tables computed in the graph.

The tables are those of `resize.axis_forms.tables`, computed from the matrix of resize-dynamic-to-matmul.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.resize import ResizeBackwardDynamicOp
from dialects.onnx import ops as onnx
from dialects.support.shapes import element_type_of
from passes.builder.op_builder import OpBuilder
from passes.resize.axis_forms import Tables
from passes.resize.axis_forms.tables import weighted_sums
from passes.resize.sampling_matrix import emit_matrix, emit_reads, runtime_samplings
from passes.strategies.base import Strategy, no_kernel
from passes.strategies.resize.resize_dynamic_to_matmul import too_wide
from passes.targets.target import Target


class ResizeDynamicToGatheredSum(Strategy):
    """Gather, Mul and ReduceSum with tables that the graph computes."""

    name: ClassVar[str] = "resize-dynamic-to-gathered-sum"
    ops: ClassVar = (ResizeBackwardDynamicOp,)
    strict_only: ClassVar = True

    def refuses(self, op: ResizeBackwardDynamicOp, target: Target) -> str | None:
        return no_kernel(target, op.diff_dst, *Tables.needs, onnx.GatherElementsOp) or too_wide(op, target)

    def emit(self, op: ResizeBackwardDynamicOp, target: Target, emit: OpBuilder) -> SSAValue:
        emit = emit.narrowed(target.spec.narrow_integers is not None)
        value: SSAValue = op.diff_dst
        for axis, sampling in runtime_samplings(emit, op):
            matrix = emit_matrix(emit, sampling, element_type_of(op.diff_dst))
            value = weighted_sums(emit, value, axis, *emit_reads(emit, sampling, matrix))
        return value
