"""8-bit arithmetic, which wraps in ONNX and saturates in OpenVINO."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.support.dtypes import name_of
from dialects.support.shapes import element_type_of
from passes.autodiff.common.primal import Primal
from passes.builder.op_builder import OpBuilder
from passes.builder.values import Builder
from passes.decompositions.registry import Results

ARITHMETIC = (onnx.AddOp, onnx.MulOp, onnx.SubOp)


def is_8_bit(op: OnnxOp) -> bool:
    return name_of(element_type_of(op.results[0])) in ("s8", "u8")


def in_32_bits(f: Primal, e: Builder) -> Results:
    """Compute in s32, and keep the last eight bits, from -128 on for s8."""
    op, emit = f.op, e.emit
    dtype = element_type_of(op.results[0])
    wide = [emit(onnx.CastOp(value, to=i32)) for value in op.operands]
    found = emit(type(op)(*wide))
    lowest = 128 if name_of(dtype) == "s8" else 0
    if lowest:
        found = emit(onnx.AddOp(found, _number(emit, lowest)))
    found = emit(onnx.ModOp(found, _number(emit, 256)))
    if lowest:
        found = emit(onnx.SubOp(found, _number(emit, lowest)))
    return [emit(onnx.CastOp(found, to=dtype))]


def _number(emit: OpBuilder, value: int) -> SSAValue:
    return emit.constant(np.array(value, np.int32))
