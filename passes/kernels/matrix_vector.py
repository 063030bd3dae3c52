"""A product of matrices and a vector as one of matrices.

onnxruntime makes one op of a Transpose and the MatMul that reads it, which on a vector gives wrong numbers:
it multiplies as if nothing had been turned.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.support.shapes import has_rank, shape_of
from passes.emit.rewriting import Emitter


def is_by_a_vector(op: OnnxOp) -> bool:
    """Whether the right operand is a vector, and the left one none."""
    assert isinstance(op, onnx.MatMulOp)
    return has_rank(op.B) and len(shape_of(op.B)) == 1 and has_rank(op.A) and len(shape_of(op.A)) > 1


def matrix_vector(emit: Emitter, op: OnnxOp) -> Sequence[SSAValue] | None:
    """With the vector as a column; None for another product."""
    if not is_by_a_vector(op):
        return None
    assert isinstance(op, onnx.MatMulOp)
    column = emit(onnx.UnsqueezeOp(op.B, emit.ints([1])))
    return [emit(onnx.SqueezeOp(emit(onnx.MatMulOp(op.A, column)), emit.ints([-1])))]
