"""Equal, Cast of 4-bit integers, ConstantOfShape and Flatten."""

from __future__ import annotations

import numpy as np

from dialects.onnx import ops as onnx
from dialects.support.dtypes import name_of
from dialects.support.shapes import element_type_of
from passes.autodiff.common.primal import Primal
from passes.builder.values import Builder
from passes.decompositions.registry import Results


def equal(f: Primal, e: Builder) -> Results:
    """a = b as a >= b and b >= a, both false for NaN."""
    op, emit = f.op, e.emit
    a, b = op.operands
    above, below = emit(onnx.GreaterOrEqualOp(a, b)), emit(onnx.GreaterOrEqualOp(b, a))
    return [emit(onnx.AndOp(above, below))]


def constant_of_shape(f: Primal, e: Builder) -> Results:
    op, emit = f.op, e.emit
    value = op.onnx_attributes().get("value", np.zeros(1, np.float32))
    assert isinstance(value, np.ndarray)
    return [emit(onnx.ExpandOp(emit.constant(value.reshape(())), op.operands[0]))]


def cast(f: Primal, e: Builder) -> Results | None:
    """Cast 4-bit integers by a DequantizeLinear of scale 1."""
    op, emit = f.op_as(onnx.CastOp), e.emit
    if name_of(element_type_of(op.input)) not in ("s4", "u4"):
        return None
    wide = emit(onnx.DequantizeLinearOp(op.input, emit.constant(np.ones((), np.float32))))
    wanted = element_type_of(op.output)
    return [wide if wanted == element_type_of(wide) else emit(onnx.CastOp(wide, to=wanted))]


def flatten(f: Primal, e: Builder) -> Results:
    op, emit = f.op_as(onnx.FlattenOp), e.emit
    call = op.call()
    rank = call.operand(0).rank
    split = slice(call.attribute("axis", 1), None).indices(rank)[0]
    products = [
        emit.product([emit.sizes(op.input, [axis]) for axis in side])
        for side in (range(split), range(split, rank))
    ]
    return [emit(onnx.ReshapeOp(op.input, emit.concat(products), allowzero=1))]
