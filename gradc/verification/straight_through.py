"""Tangents of straight-through estimators.

The tangent of y = DequantizeLinear(QuantizeLinear(x)) is that of x within the bounds of the type, with
constant codes. The tangent of y = z + (q - z) is that of z, with constant q - z.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from dialects.onnx.base import OnnxOp
from dialects.onnx.interpreter.pairs import Pair, tangent_of, value_of
from dialects.support.dtypes import known_dtype, limits_of
from dialects.support.shapes import element_type_of
from gradc.verification.widening import wide
from passes.autodiff.activity.straight_through_marks import cotangent_target
from passes.autodiff.rules.quantize import CONSTANT_RANGE, quantizing_op, scale_of, zero_of

OFF_CODE = 0.01
"""Largest displacement of a dequantised number from its code, relative to the scale."""

Numbers = Callable[[Operation, Any], tuple[Any, ...]]


def straight_through(
    op: Operation,
    given: Callable[[SSAValue], Any],
    numbers: Numbers,
    off_codes: np.random.Generator | None = None,
) -> Any:
    """Return the results of a marked op with straight-through tangents; None for any other op. `off_codes`
    displaces dequantised values from their codes by a fraction of the scale."""
    passed = cotangent_target(op)
    if passed is not None:
        (result,) = numbers(op, [wide(value_of(given(value))) for value in op.operands])
        tangent = tangent_of(given(passed))
        return (result if tangent is None else Pair(result, np.broadcast_to(tangent, result.shape).copy()),)
    if CONSTANT_RANGE in op.attributes:
        return numbers(op, [wide(value_of(given(value))) for value in op.operands])
    made = quantizing_op(op)
    if made is None:
        return None
    assert isinstance(op, OnnxOp)
    return (_dequantize(op, made, given, numbers, off_codes),)


def estimate_operands(op: Operation) -> list[SSAValue]:
    """Return the values besides its operands that a marked op's tangents depend on."""
    passed, made = cotangent_target(op), quantizing_op(op)
    found = [] if passed is None else [passed]
    if made is None:
        return found
    zero = zero_of(made)
    return [*found, made.operands[0], scale_of(made), *([] if zero is None else [zero])]


def _dequantize(
    op: OnnxOp,
    made: OnnxOp,
    given: Callable[[SSAValue], Any],
    numbers: Numbers,
    off_codes: np.random.Generator | None,
) -> Any:
    operands = [wide(value_of(given(value))) for value in op.operands]
    (result,) = numbers(op, operands)
    if off_codes is not None:
        scale = _spread(operands[1], result.shape, op.onnx_attributes())
        result = result + OFF_CODE * scale * off_codes.uniform(0.5, 1.0, result.shape)
    tangent = np.zeros(result.shape)
    moves = False
    by_scale = tangent_of(given(op.operands[1]))
    if by_scale is not None:
        (part,) = numbers(op, [operands[0], by_scale, *operands[2:]])
        tangent, moves = tangent + part, True
    x, by_x = given(made.operands[0]), tangent_of(given(made.operands[0]))
    if by_x is not None:
        old = _spread(wide(value_of(given(scale_of(made)))), result.shape, made.onnx_attributes())
        new = _spread(operands[1], result.shape, op.onnx_attributes())
        inside = _inside(made, wide(value_of(x)), old, given)
        tangent, moves = tangent + np.where(inside, by_x * (new / old), 0.0), True
    return Pair(result, tangent) if moves else result


def _inside(made: OnnxOp, x: np.ndarray, scale: np.ndarray, given: Callable[[SSAValue], Any]) -> np.ndarray:
    """Return the mask of numbers that round to a value within the bounds of the type."""
    dtype = known_dtype(element_type_of(made.results[0]))
    low, high = limits_of(dtype)
    number = x / scale
    zero = zero_of(made)
    if not dtype.name.startswith("f"):
        number = np.round(number)
        if zero is not None:
            points = np.asarray(value_of(given(zero))).astype(np.float64)
            number = number + _spread(points, x.shape, made.onnx_attributes())
    return (number >= low) & (number <= high)


def _spread(scale: np.ndarray, shape: tuple[int, ...], attributes: Mapping[str, Any]) -> np.ndarray:
    """Broadcast a scale or zero point per tensor, axis or block to all elements."""
    scale = np.asarray(scale)
    if scale.size == 1:
        return np.broadcast_to(scale.reshape(()), shape)
    axis, block = attributes.get("axis", 1) % len(shape), attributes.get("block_size", 0)
    if block:
        return np.repeat(scale, block, axis)[tuple(slice(size) for size in shape)]
    if scale.ndim == 1:
        scale = scale.reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return np.broadcast_to(scale, shape)
