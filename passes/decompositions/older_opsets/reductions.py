"""Decompositions of reductions with empty or run-time axes for older opsets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.values import constant_of
from dialects.support.dtypes import FLOATS, of_mlir
from dialects.support.shapes import element_type_of, shape_of
from passes.autodiff.common.primal import Primal
from passes.builder.op_builder import OpBuilder
from passes.builder.values import Builder
from passes.decompositions.registry import Results

Reduction = onnx.ReduceMaxOp | onnx.ReduceMeanOp | onnx.ReduceMinOp | onnx.ReduceProdOp


def reduction(f: Primal, e: Builder) -> Results | None:
    """Before opset 18 axes are an attribute, and empty axes mean all."""
    op, emit = f.op, e.emit
    assert isinstance(op, Reduction)
    keeps = op.call().attribute("keepdims", 1)
    axes = None if op.axes is None else constant_of(op.axes)
    if op.axes is None or (axes is not None and not axes.size):
        if op.call().attribute("noop_with_empty_axes", 0):
            return [emit(onnx.IdentityOp(op.data))]
        return [emit(type(op)(op.data, keepdims=keeps))] if op.axes is not None else None
    if axes is None and isinstance(op, onnx.ReduceMeanOp):
        return _mean(emit, op, op.axes)
    return None if axes is not None else _by_membership(emit, op, op.axes)


def _by_membership(emit: OpBuilder, op: Reduction, axes: SSAValue) -> Sequence[SSAValue] | None:
    """Reduce every axis in turn, append the result along that axis, and slice out either the result or the
    data by whether the axis is listed in `axes`. The data has a known rank."""
    call, rank = op.call(), len(shape_of(op.data))
    if rank == 0:
        return [emit(onnx.IdentityOp(op.data))]
    noop = call.attribute("noop_with_empty_axes", 0)
    value = op.data
    listed = _axis_flags(emit, axes, rank, noop)
    for axis in range(rank):
        is_listed, size = emit.take(listed, [axis]), emit.sizes(op.data, [axis])
        start = emit.mul(size, is_listed)
        stop = emit.add(size, is_listed)
        reduced = emit(type(op)(value, emit.ints([axis]), keepdims=1))
        both = emit(onnx.ConcatOp([value, reduced], axis=axis))
        value = emit(onnx.SliceOp(both, start, stop, emit.ints([axis])))
    if call.attribute("keepdims", 1):
        return [value]
    length = shape_of(axes)[0]
    if isinstance(length, int) and length > 0:
        return [emit(onnx.SqueezeOp(value, axes))]
    columns = emit(onnx.CompressOp(emit.ints(range(rank)), emit(onnx.CastOp(listed, to=i1)), axis=0))
    beyond = emit.ints([rank])  # an empty list of axes would squeeze all axes of size 1
    return [emit(onnx.SqueezeOp(emit(onnx.UnsqueezeOp(value, beyond)), emit.concat([columns, beyond])))]


def _axis_flags(emit: OpBuilder, axes: SSAValue, rank: int, noop: int) -> SSAValue:
    """Return 1 for each axis that is in `axes`, else 0; 1 for all if `axes` is empty without `noop`."""
    every = emit.ints(range(rank))
    column = emit(onnx.UnsqueezeOp(emit(onnx.GatherOp(every, axes)), emit.ints([1])))
    equal = emit(onnx.CastOp(emit(onnx.EqualOp(column, every)), to=i64))
    listed = emit.min(emit(onnx.ReduceSumOp(equal, emit.ints([0]), keepdims=0)), 1)
    if noop:
        return listed
    is_empty = emit(onnx.EqualOp(emit(onnx.SizeOp(axes)), emit.constant(np.array(0, np.int64))))
    return emit.add(listed, emit(onnx.CastOp(is_empty, to=i64)))


def bitwise_not(f: Primal, e: Builder) -> Results | None:
    """Before opset 18: -1 - x for signed integers, max - x for unsigned ones."""
    op, emit = f.op, e.emit
    dtype = of_mlir(element_type_of(op.operands[0]))
    if dtype is None or dtype.name not in ("s8", "u8", "s16", "u16", "s32", "u32", "s64"):
        return None
    wide = {"s32": i32, "s64": i64, "u32": i64}.get(dtype.name, i32)
    ones = np.array(int(~np.zeros((), dtype.numpy)), np.int64 if wide is i64 else np.int32)
    value = op.operands[0] if dtype.mlir == wide else emit(onnx.CastOp(op.operands[0], to=wide))
    found = emit(onnx.SubOp(emit.constant(ones), value))
    return [found if dtype.mlir == wide else emit(onnx.CastOp(found, to=dtype.mlir))]


def _mean(emit: OpBuilder, op: onnx.ReduceMeanOp, axes: SSAValue) -> Sequence[SSAValue] | None:
    """Lower to ReduceSum, whose axes are an operand since opset 13."""
    dtype = of_mlir(element_type_of(op.data))
    if dtype is None or dtype.name not in FLOATS:
        return None
    call = op.call()
    keeps, noop = call.attribute("keepdims", 1), call.attribute("noop_with_empty_axes", 0)
    total = emit(onnx.ReduceSumOp(op.data, axes, keepdims=keeps, noop_with_empty_axes=noop))
    sums = emit(onnx.MaxOp([emit(onnx.SizeOp(total)), emit.constant(np.array(1, np.int64))]))
    count = emit(onnx.DivOp(emit(onnx.SizeOp(op.data)), sums))
    return [emit(onnx.DivOp(total, emit(onnx.CastOp(count, to=dtype.mlir))))]


def extreme(f: Primal, e: Builder) -> Results | None:
    """Before opset 20 ReduceMax and ReduceMin have no booleans: of no integers they give the least and the
    largest one, for false and true."""
    op, emit = f.op, e.emit
    assert isinstance(op, onnx.ReduceMaxOp | onnx.ReduceMinOp)
    dtype = of_mlir(element_type_of(op.data))
    if dtype is None or dtype.name != "boolean":
        return reduction(f, e)
    numbers = emit(onnx.CastOp(op.data, to=i32))
    given: dict[str, Any] = {**op.onnx_attributes()}
    found = emit(type(op)(numbers, op.axes, **given))
    return [emit(onnx.GreaterOp(found, emit.constant(np.zeros((), np.int32))))]


def arithmetic(f: Primal, e: Builder) -> Results | None:
    """Before opset 14 there is no 8- and 16-bit arithmetic; a Cast from 32 bits wraps."""
    op, emit = f.op, e.emit
    dtype = of_mlir(element_type_of(op.operands[0]))
    if dtype is None or dtype.name not in ("s8", "u8", "s16", "u16"):
        return None
    wide = [emit(onnx.CastOp(value, to=i32)) for value in op.operands]
    return [emit(onnx.CastOp(emit(type(op)(*wide)), to=dtype.mlir))]


def relu(f: Primal, e: Builder) -> Results | None:
    """Before opset 14 Relu has no integers."""
    op, emit = f.op, e.emit
    dtype = of_mlir(element_type_of(op.operands[0]))
    if dtype is None or dtype.name not in ("s8", "s16", "s32", "s64"):
        return None
    if dtype.name in ("s32", "s64"):
        return [emit(onnx.MaxOp([op.operands[0], emit.constant(np.zeros((), dtype.numpy))]))]
    wide = emit(onnx.CastOp(op.operands[0], to=i32))
    most = emit(onnx.MaxOp([wide, emit.constant(np.zeros((), np.int32))]))
    return [emit(onnx.CastOp(most, to=dtype.mlir))]


def mod(f: Primal, e: Builder) -> Results | None:
    """Before opset 28 a float remainder has the sign of the dividend: correct it by one divisor."""
    op, emit = f.op_as(onnx.ModOp), e.emit
    dtype = of_mlir(element_type_of(op.A))
    if dtype is None or dtype.name not in FLOATS:
        return None
    rest = emit(onnx.ModOp(op.A, op.B, fmod=1))
    signs = emit(onnx.MulOp(emit(onnx.SignOp(rest)), emit(onnx.SignOp(op.B))))
    is_other = emit(onnx.LessOp(signs, emit.constant(np.zeros((), dtype.numpy))))
    return [emit(onnx.WhereOp(is_other, emit(onnx.AddOp(rest, op.B)), rest))]
