"""VJP rules of quantization: with respect to scales, and on request straight through pairs.

QuantizeLinear is piecewise constant, so DequantizeLinear(QuantizeLinear(x)) passes no gradient to x. On
request such a pair is marked, and the cotangent passes through it, 0 where the rounded number is outside the
type's bounds, as in torch's fake_quantize. For the gradient of DequantizeLinear's scale the codes are
constants. A range measured by DynamicQuantizeLinear is a constant then, as for torch's observers: without
rounding no scale matters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp, UnitAttr, f32
from xdsl.ir import Attribute, Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.values import constant_of
from dialects.support.dtypes import HALVES, known_dtype, limits_of, of_mlir
from dialects.support.shapes import element_type_of
from passes.autodiff.common.primal import Primal
from passes.autodiff.common.slice_adjoint import size_of, vector
from passes.builder.values import Builder, Value

STRAIGHT_THROUGH = "gradc.straight_through"
"""Marks a DequantizeLinear that passes gradients to the unquantized value; and the quantizing op if it has no
other readers."""

CONSTANT_RANGE = "gradc.still"
"""Marks a DynamicQuantizeLinear with a straight-through gradient: its range has none."""

QUANTIZING = (onnx.QuantizeLinearOp, onnx.DynamicQuantizeLinearOp)
CODES = 255.0


def mark_pairs(module: ModuleOp) -> None:
    """Mark each DequantizeLinear of a value quantized in the same block."""
    for op in module.walk():
        if not isinstance(op, QUANTIZING):
            continue
        users = [use.operation for use in op.results[0].uses]
        pairs = [
            user
            for user in users
            if isinstance(user, onnx.DequantizeLinearOp)
            and user.operands[0] is op.results[0]
            and user.parent_block() is op.parent_block()
        ]
        for one in (*pairs, *([op] if pairs and len(pairs) == len(users) else [])):
            one.attributes[STRAIGHT_THROUGH] = UnitAttr()
        if pairs and isinstance(op, onnx.DynamicQuantizeLinearOp):
            op.attributes[CONSTANT_RANGE] = UnitAttr()


def unmark_pairs(module: ModuleOp) -> None:
    for op in module.walk():
        op.attributes.pop(STRAIGHT_THROUGH, None)
        op.attributes.pop(CONSTANT_RANGE, None)


def quantizing_op(op: Operation) -> OnnxOp | None:
    """Return the op that quantized the operand of a marked op; None for other ops."""
    if STRAIGHT_THROUGH not in op.attributes or isinstance(op, QUANTIZING):
        return None
    made = op.operands[0].owner
    assert isinstance(made, QUANTIZING)
    return made


def is_passed_over(op: Operation) -> bool:
    """Return whether only marked ops read the quantized value, so that the op blocks no gradient."""
    return STRAIGHT_THROUGH in op.attributes and isinstance(op, QUANTIZING)


# By scales


def dequantize(f: Primal, e: Builder) -> Sequence[Value]:
    """(x - zero point) * scale; codes of half types are computed in f32. All operands are cast to one type
    first: few kernels take 4-bit integers."""
    scale, zero = f.required(1), f.operand(2)
    dtype = wide(scale.dtype)
    codes = f.x.cast(dtype)
    if zero is not None:
        codes = codes - spread(zero.cast(dtype), f.x, f.attributes)
    return [(codes * spread(scale.cast(dtype), f.x, f.attributes)).cast(f.y.dtype)]


def dynamic_quantize(f: Primal, e: Builder) -> Sequence[Value]:
    """The scale is range(x, 0) / 255; codes and zero point have no derivative."""
    high = f.x.apply(onnx.ReduceMaxOp, keepdims=0).at_least(0)
    low = f.x.apply(onnx.ReduceMinOp, keepdims=0).at_most(0)
    return [f.y, (high - low) / CODES, f.y]


def spread(given: Value, x: Value, attributes: Mapping[str, object]) -> Value:
    """Broadcast a scale or zero point to x: per tensor, per axis or per block."""
    e, axis, block = x.e, attributes.get("axis", 1), attributes.get("block_size", 0)
    assert isinstance(axis, int)
    assert isinstance(block, int)
    if not given.rank:
        return given
    if given.rank == 1 and (given.shape == (1,) or x.rank == 0):
        return given.squeeze([0])
    axis %= x.rank
    if not block:
        behind = range(1, x.rank - axis)
        return given.unsqueeze(behind) if behind else given
    apart = given.unsqueeze([axis + 1])
    ones = [1] * apart.rank
    ones[axis + 1] = block
    sizes = [size_of(given, i) for i in range(given.rank)]
    count = sizes[axis]
    sizes[axis] = count * block if isinstance(count, int) else count * e.ints([block])
    wide = apart.apply(onnx.ExpandOp, e.ints(ones)).apply(onnx.ReshapeOp, vector(x, sizes), allowzero=1)
    size = size_of(x, axis)
    if size == sizes[axis]:
        return wide
    return wide.apply(onnx.SliceOp, e.ints([0]), vector(x, [size]), e.ints([axis])).assume_shape(x.shape)


def wide(dtype: Attribute) -> Attribute:
    """Return the type that floats are computed in: f32 for half types."""
    known = of_mlir(dtype)
    return f32 if known is None or known.name in HALVES else dtype


# Straight through


def straight_through_gradient(made: OnnxOp, op: OnnxOp, g: Value, e: Builder) -> Value:
    """Return the cotangent of the value that `made` quantized, from that of the marked op's result."""
    x, scale = e(made.operands[0]), e(scale_of(made))
    passed = e.keep(g.cast(x.dtype), _is_inside(made, x, scale, e))
    if _same_scales(made, op):
        return passed
    new, old = (spread(e(scale_of(one)), x, one.onnx_attributes()).cast(x.dtype) for one in (op, made))
    return passed * (new / old)


def scale_of(op: OnnxOp) -> SSAValue:
    return op.results[1] if isinstance(op, onnx.DynamicQuantizeLinearOp) else op.operands[1]


def zero_of(op: OnnxOp) -> SSAValue | None:
    return op.results[2] if isinstance(op, onnx.DynamicQuantizeLinearOp) else (*op.onnx_inputs(), None)[2]


def _is_inside(made: OnnxOp, x: Value, scale: Value, e: Builder) -> Value:
    """Return where the number to be rounded (or rounded, for integers) is within the type's bounds."""
    attributes, zero = made.onnx_attributes(), zero_of(made)
    dtype = known_dtype(element_type_of(made.results[0]))
    float_ = wide(x.dtype)
    number = x.cast(float_) / spread(scale, x, attributes).cast(float_)
    low, high = limits_of(dtype)
    if not dtype.name.startswith("f"):
        number = number.apply(onnx.RoundOp)
        number = number if zero is None else number + spread(e(zero), x, attributes).cast(float_)
    return number.clip_to(low, high).equals(number)


def _same_scales(one: OnnxOp, other: OnnxOp) -> bool:
    """Return whether two ops have the same scale for each element."""
    if any(
        one.onnx_attributes().get(name) != other.onnx_attributes().get(name)
        for name in ("axis", "block_size")
    ):
        return False
    a, b = scale_of(one), scale_of(other)
    known = constant_of(a)
    given = None if known is None else constant_of(b)
    return a is b or (known is not None and given is not None and np.array_equal(known, given))
