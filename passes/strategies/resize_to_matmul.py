"""resize-to-matmul: the gradient of a resize is, per axis, a product with the sampling matrix.

diff_src = M^T diff_dst with M (Y, X) of `sampling.AxisSampling.matrix`. The last axis is multiplied
from the right, any other from the left, with whatever lies behind it as columns: the same product for
NCX and NXC. The axis that shrinks most goes first.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.resize import ResizeBackwardOp
from dialects.onnx import ops as onnx
from dialects.support.dtypes import of_mlir
from dialects.support.shapes import element_type_of
from passes.strategies.base import Strategy, no_kernel
from passes.support.rewriting import Emitter
from passes.support.tensors import contract
from passes.target import Target


class ResizeToMatMul(Strategy):
    """One dense MatMul per axis with a constant matrix."""

    name: ClassVar[str] = "resize-to-matmul"
    ops: ClassVar = (ResizeBackwardOp,)

    def refuses(self, op: ResizeBackwardOp, target: Target) -> str | None:
        return no_kernel(target, op.diff_dst, onnx.MatMulOp)

    def emit(self, op: ResizeBackwardOp, target: Target, emit: Emitter) -> SSAValue:
        dtype = of_mlir(element_type_of(op.diff_dst))
        assert dtype is not None
        steps = sorted(
            zip(op.value("axes"), op.samplings, strict=True), key=lambda s: Fraction(s[1].x, s[1].y)
        )
        value: SSAValue = op.diff_dst
        for axis, sampling in steps:
            matrix = emit.constant(sampling.matrix().astype(dtype.numpy))
            value = contract(emit, value, axis, matrix)
        return value
