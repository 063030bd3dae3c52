"""Reductions whose axes are empty, or known at run time only, as older opsets have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.values import constant_of
from dialects.support.dtypes import FLOATS, of_mlir
from dialects.support.shapes import element_type_of
from passes.emit.rewriting import Emitter

Reduction = onnx.ReduceMaxOp | onnx.ReduceMeanOp | onnx.ReduceMinOp | onnx.ReduceProdOp


def reduction(emit: Emitter, op: OnnxOp) -> Sequence[SSAValue] | None:
    """Before opset 18 axes were an attribute, and none of them meant all."""
    assert isinstance(op, Reduction)
    keeps = op.call().attribute("keepdims", 1)
    axes = None if op.axes is None else constant_of(op.axes)
    if op.axes is None or (axes is not None and not axes.size):
        if op.call().attribute("noop_with_empty_axes", 0):
            return [emit(onnx.IdentityOp(op.data))]
        return [emit(type(op)(op.data, keepdims=keeps))] if op.axes is not None else None
    if axes is None and isinstance(op, onnx.ReduceMeanOp):
        return _mean(emit, op, op.axes)
    return None


def _mean(emit: Emitter, op: onnx.ReduceMeanOp, axes: SSAValue) -> Sequence[SSAValue] | None:
    """By ReduceSum, whose axes are an operand since opset 13."""
    dtype = of_mlir(element_type_of(op.data))
    if dtype is None or dtype.name not in FLOATS:
        return None
    call = op.call()
    keeps, noop = call.attribute("keepdims", 1), call.attribute("noop_with_empty_axes", 0)
    total = emit(onnx.ReduceSumOp(op.data, axes, keepdims=keeps, noop_with_empty_axes=noop))
    sums = emit(onnx.MaxOp([emit(onnx.SizeOp(total)), emit.constant(np.array(1, np.int64))]))
    count = emit(onnx.DivOp(emit(onnx.SizeOp(op.data)), sums))
    return [emit(onnx.DivOp(total, emit(onnx.CastOp(count, to=dtype.mlir))))]


def extreme(emit: Emitter, op: OnnxOp) -> Sequence[SSAValue] | None:
    """Before opset 20 there was no ReduceMax or ReduceMin of truth values."""
    assert isinstance(op, onnx.ReduceMaxOp | onnx.ReduceMinOp)
    dtype = of_mlir(element_type_of(op.data))
    if dtype is None or dtype.name != "boolean":
        return reduction(emit, op)
    numbers = emit(onnx.CastOp(op.data, to=i32))
    given: dict[str, Any] = {**op.onnx_attributes()}
    found = emit(type(op)(numbers, op.axes, **given))
    return [emit(onnx.CastOp(found, to=dtype.mlir))]


def arithmetic(emit: Emitter, op: OnnxOp) -> Sequence[SSAValue] | None:
    """Before opset 14 integers of 8 and 16 bits had no arithmetic; a Cast of 32 bits wraps."""
    dtype = of_mlir(element_type_of(op.operands[0]))
    if dtype is None or dtype.name not in ("s8", "u8", "s16", "u16"):
        return None
    wide = [emit(onnx.CastOp(value, to=i32)) for value in op.operands]
    return [emit(onnx.CastOp(emit(type(op)(*wide)), to=dtype.mlir))]


def relu(emit: Emitter, op: OnnxOp) -> Sequence[SSAValue] | None:
    """Before opset 14 there was none of integers."""
    dtype = of_mlir(element_type_of(op.operands[0]))
    if dtype is None or dtype.name not in ("s8", "s16", "s32", "s64"):
        return None
    if dtype.name in ("s32", "s64"):
        return [emit(onnx.MaxOp([op.operands[0], emit.constant(np.zeros((), dtype.numpy))]))]
    wide = emit(onnx.CastOp(op.operands[0], to=i32))
    most = emit(onnx.MaxOp([wide, emit.constant(np.zeros((), np.int32))]))
    return [emit(onnx.CastOp(most, to=dtype.mlir))]
