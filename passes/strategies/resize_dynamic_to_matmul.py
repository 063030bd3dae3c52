"""resize-dynamic-to-matmul: `grad.resize_backward_dynamic` with matrices computed in the graph."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.resize import ResizeBackwardDynamicOp
from dialects.onnx import ops as onnx
from dialects.support.shapes import element_type_of
from passes.strategies.base import Strategy, no_kernel
from passes.support.rewriting import Emitter
from passes.support.sampling_matrix import RuntimeSampling, emit_matrix
from passes.support.shape_math import ShapeMath
from passes.support.tensors import contract
from passes.target import Target


class ResizeDynamicToMatMul(Strategy):
    """One dense MatMul per axis with a matrix that the graph computes."""

    name: ClassVar[str] = "resize-dynamic-to-matmul"
    ops: ClassVar = (ResizeBackwardDynamicOp,)

    def refuses(self, op: ResizeBackwardDynamicOp, target: Target) -> str | None:
        return no_kernel(target, op.diff_dst, onnx.MatMulOp)

    def emit(self, op: ResizeBackwardDynamicOp, target: Target, emit: Emitter) -> SSAValue:
        math = ShapeMath(emit)
        value: SSAValue = op.diff_dst
        for i, axis in enumerate(op.value("axes")):
            sampling = RuntimeSampling(
                math.take(op.input_sizes, [i]),
                math.sizes(op.diff_dst, [axis]),
                (math.take(op.step_numerators, [i]), math.take(op.step_denominators, [i])),
                op.value("interpolation"),
                op.value("coordinates"),
            )
            matrix = emit_matrix(emit, sampling, element_type_of(op.diff_dst))
            value = contract(emit, value, axis, matrix)
        return value
