"""What quantisation is in ONNX."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from dialects.onednn.quant import (
    FOUR_BITS,
    INTEGERS,
    DequantizationOp,
    DynamicDequantizationOp,
    DynamicQuantizationOp,
    DynamicScalingOp,
    QuantizationOp,
    ScalingOp,
    StaticScalingOp,
)
from dialects.onnx import ops as onnx
from dialects.support.dtypes import by_name, name_of
from dialects.support.shapes import element_type_of, shape_of
from passes.emit.expressions import Expr, Operators
from passes.emit.shape_math import ShapeMath


def quantize(op: QuantizationOp, e: Operators) -> Sequence[Expr]:
    """oneDNN does not clip floats of eight bits."""
    dtype = name_of(element_type_of(op.dst))
    scales, zeros = _constants(op, dtype, e)
    given = _axis(op) | ({} if dtype in INTEGERS else {"saturate": 0})
    return [e(op.src).apply(onnx.QuantizeLinearOp, scales, zeros, **given)]


def dequantize(op: DequantizationOp, e: Operators) -> Sequence[Expr]:
    scales, zeros = _constants(op, name_of(element_type_of(op.src)), e)
    return [e(op.src).apply(onnx.DequantizeLinearOp, scales, zeros, **_axis(op))]


def _constants(op: StaticScalingOp, dtype: str, e: Operators) -> tuple[Expr, Expr]:
    """Scales and zero points: scalars, or vectors along the axis."""
    entry, scales = by_name(dtype), op.value("scales")
    assert entry is not None
    zeros = op.value("zps") or (0,) * len(scales)
    shape = () if op.scaled_axis() is None else (len(scales),)
    arrays = (np.array(scales, np.float32), np.array(zeros, np.float32).astype(entry.numpy))
    first, second = (e(e.emit.constant(array.reshape(shape))) for array in arrays)
    return first, second


def _axis(op: ScalingOp) -> dict[str, Any]:
    axis = op.scaled_axis()
    return {} if axis is None else {"axis": axis}


def dynamic_quantize(op: DynamicQuantizationOp, e: Operators) -> Sequence[Expr]:
    """The zero points of ONNX's op have the dtype of the result, which they give it also where they are 0."""
    dtype, scales = element_type_of(op.dst), _beside_all(op, op.scales, e)
    if op.zps is not None and element_type_of(op.zps) != dtype:
        return [_by_formula(op, op.zps, e)]
    if op.zps is not None:
        zeros = _beside_all(op, op.zps, e)
    else:
        entry = by_name(name_of(dtype))
        assert entry is not None
        zero = e(e.emit.constant(np.zeros((), entry.numpy)))
        along = [] if op.scaled_axis() is None else [0]
        zeros = zero.apply(onnx.ExpandOp, e(ShapeMath(e.emit).sizes(scales.value, along))) if along else zero
    return [e(op.src).apply(onnx.QuantizeLinearOp, scales, zeros, **_axis(op))]


def _by_formula(op: DynamicQuantizationOp, zps: SSAValue, e: Operators) -> Expr:
    src, dtype = e(op.src), element_type_of(op.dst)
    low, high = (0, 255) if name_of(dtype) == "u8" else (-128, 127)
    rounded = (src / _repeated(op, e(op.scales), e)).apply(onnx.RoundOp)
    return (rounded + _repeated(op, e(zps).cast(src.dtype), e)).clipped(low, high).cast(dtype)


def _beside_all(op: ScalingOp, vector: SSAValue, e: Operators) -> Expr:
    """A scalar where one holds for all."""
    is_scalar = op.scaled_axis() is not None or not shape_of(vector)
    return e(vector) if is_scalar else e(vector).apply(onnx.ReshapeOp, e.ints([]))


def dynamic_dequantize(op: DynamicDequantizationOp, e: Operators) -> Sequence[Expr]:
    """ONNX's op where it says the groups and the zero points, else the formula."""
    src, groups = e(op.src), op.groups()
    is_own = op.zps is None or element_type_of(op.zps) == src.dtype
    if not groups and is_own:
        vectors = [None if v is None else _beside_all(op, v, e) for v in (op.scales, op.zps)]
        return [src.apply(onnx.DequantizeLinearOp, *vectors, **_axis(op))]
    grouped = [axis for axis, group in enumerate(groups) if group != 1]
    if len(grouped) == 1 and is_own and name_of(src.dtype) in FOUR_BITS:  # both are as young as opset 21
        vectors = [None if v is None else e(v) for v in (op.scales, op.zps)]
        given = {"axis": grouped[0], "block_size": groups[grouped[0]]}
        return [src.apply(onnx.DequantizeLinearOp, *vectors, **given)]
    scales = _repeated(op, e(op.scales), e)
    wide = src.cast(scales.dtype)
    centred = wide if op.zps is None else wide - _repeated(op, e(op.zps).cast(scales.dtype), e)
    return [centred * scales]


def _repeated(op: DynamicScalingOp, vector: Expr, e: Operators) -> Expr:
    """Scales or zero points in a shape that broadcasts to the data."""
    groups, rank = op.groups(), len(shape_of(op.src))
    if not groups:
        axis = op.scaled_axis()
        vector = _beside_all(op, vector.value, e)
        behind = [] if axis is None else range(1, rank - axis)
        return vector.apply(onnx.UnsqueezeOp, e.ints(behind)) if behind else vector
    math = ShapeMath(e.emit)
    sizes = [math.sizes(vector.value, [axis]) for axis in range(rank)]
    repeats = [
        part for size, group in zip(sizes, groups, strict=True) for part in (size, math.vector([group]))
    ]
    spread = vector.apply(onnx.UnsqueezeOp, e.ints(range(1, 2 * rank, 2)))
    expanded = spread.apply(onnx.ExpandOp, e(math.concat(repeats)))
    joined = [math.mul(size, math.vector([group])) for size, group in zip(sizes, groups, strict=True)]
    return expanded.apply(onnx.ReshapeOp, e(math.concat(joined)))


CONVERSIONS: Mapping[str, Callable[..., Sequence[Expr]]] = MappingProxyType(
    {
        "Dequantize": dequantize,
        "DynamicDequantize": dynamic_dequantize,
        "DynamicQuantize": dynamic_quantize,
        "Quantize": quantize,
    }
)
