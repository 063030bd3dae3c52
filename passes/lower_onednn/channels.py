"""Layout conversion for ONNX ops that take channels first."""

from __future__ import annotations

from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.support import layouts
from dialects.support.shapes import shape_of
from passes.builder.op_builder import OpBuilder


def to_layout(value: SSAValue, source: str, target: str, emit: OpBuilder) -> SSAValue:
    """Transpose a tensor from one layout to another."""
    perm = layouts.permutation(source, target, len(shape_of(value)) - 2)
    return value if perm == tuple(range(len(perm))) else emit(onnx.TransposeOp(value, perm=perm))
