"""Quantization in ONNX.

Dequantization is written as its formula: onnxruntime computes ops between DequantizeLinear and QuantizeLinear
in integers, and rounds where floats would not, by up to 30 steps if it moves the op and drops a sign.
"""

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
from dialects.support.dtypes import by_name, known_dtype, name_of
from dialects.support.shapes import element_type_of, shape_of
from passes.builder.values import Builder, Value


def quantize(op: QuantizationOp, e: Builder) -> Sequence[Value]:
    """Lower to ONNX's op, which divides and rounds first, for scales of powers of two and no zero points."""
    dtype = name_of(element_type_of(op.dst))
    scales, zeros = op.given()
    inverses = np.float32(1) / scales.astype(np.float32)
    if dtype in INTEGERS and not zeros.any() and np.all(np.frexp(scales)[0] == 0.5):
        return [_quantize_linear(op, e(op.src), *_constants(op, dtype, e), **_axis(op))]
    product = e(op.src) * e(e.emit.constant(inverses))
    total = product + e(e.emit.constant(zeros.astype(np.float32))) if zeros.any() else product
    return [_round_to_dtype(op, total, e)]


def _round_to_dtype(op: QuantizationOp | DynamicQuantizationOp, total: Value, e: Builder) -> Value:
    """Round and clip by ONNX's op with a scale of 1."""
    entry = known_dtype(name_of(element_type_of(op.dst)))
    one, zero = np.ones((), np.float32), np.zeros((), entry.numpy)
    return _quantize_linear(op, total, e(e.emit.constant(one)), e(e.emit.constant(zero)))


def _quantize_linear(
    op: QuantizationOp | DynamicQuantizationOp, src: Value, scales: Value, zeros: Value, **given: Any
) -> Value:
    """Quantize; oneDNN does not clip 8-bit floats. Values out of range are doubled: onnxruntime rounds the
    first of them to the largest in range, or gives NaN (quirk inf-in-f8-e5m2)."""
    dtype = name_of(element_type_of(op.dst))
    if dtype in INTEGERS:
        return src.apply(onnx.QuantizeLinearOp, scales, zeros, **given)
    beyond = src.abs() >= FIRST_BEYOND[dtype]
    return beyond.where(src + src, src).apply(onnx.QuantizeLinearOp, scales, zeros, **given, saturate=0)


FIRST_BEYOND = {"f8_e4m3": float(np.nextafter(np.float32(464), np.float32(465))), "f8_e5m2": 61440.0}
"""Least f32 numbers beyond the range of 8-bit floats."""


def dequantize(op: DequantizationOp, e: Builder) -> Sequence[Value]:
    scales, zeros = op.given()
    factors = e(e.emit.constant(scales.astype(np.float32)))
    wide = e(op.src).cast(factors.dtype)
    offsets = e(e.emit.constant(zeros.astype(np.float32))) if zeros.any() else None
    return [(wide if offsets is None else wide - offsets) * factors]


def _constants(op: StaticScalingOp, dtype: str, e: Builder) -> tuple[Value, Value]:
    """Return scales and zero points: scalars, or vectors along the axis."""
    entry, scales = by_name(dtype), op.value("scales")
    assert entry is not None
    zeros = op.value("zps") or (0,) * len(scales)
    shape = () if op.quantization_axis() is None else (len(scales),)
    arrays = (np.array(scales, np.float32), np.array(zeros, np.float32).astype(entry.numpy))
    first, second = (e(e.emit.constant(array.reshape(shape))) for array in arrays)
    return first, second


def _axis(op: ScalingOp) -> dict[str, Any]:
    axis = op.quantization_axis()
    return {} if axis is None else {"axis": axis}


def dynamic_quantize(op: DynamicQuantizationOp, e: Builder) -> Sequence[Value]:
    """Lower to the formula: ONNX's op would divide, and add the zero point after rounding."""
    src = e(op.src)
    product = src * _broadcast_parameter(op, e(op.scales).apply(onnx.ReciprocalOp), e)
    if op.zps is None:
        return [_round_to_dtype(op, product, e)]
    return [_round_to_dtype(op, product + _broadcast_parameter(op, e(op.zps).cast(src.dtype), e), e)]


def _scalar_or_vector(op: ScalingOp, vector: SSAValue, e: Builder) -> Value:
    """Return a vector, or a scalar if there is one value for all."""
    is_scalar = op.quantization_axis() is not None or not shape_of(vector)
    return e(vector) if is_scalar else e(vector).apply(onnx.ReshapeOp, e.ints([]))


def dynamic_dequantize(op: DynamicDequantizationOp, e: Builder) -> Sequence[Value]:
    """Lower to the formula, or to ONNX's op if it has a scale for each group of 4-bit numbers."""
    src, groups = e(op.src), op.groups()
    is_own = op.zps is None or element_type_of(op.zps) == src.dtype
    grouped = [axis for axis, group in enumerate(groups) if group != 1]
    if len(grouped) == 1 and is_own and name_of(src.dtype) in FOUR_BITS:  # both need opset 21
        vectors = [None if v is None else e(v) for v in (op.scales, op.zps)]
        given = {"axis": grouped[0], "block_size": groups[grouped[0]]}
        return [src.apply(onnx.DequantizeLinearOp, *vectors, **given)]
    scales = _broadcast_parameter(op, e(op.scales), e)
    wide = src.cast(scales.dtype)
    centred = wide if op.zps is None else wide - _broadcast_parameter(op, e(op.zps).cast(scales.dtype), e)
    return [centred * scales]


def _broadcast_parameter(op: DynamicScalingOp, vector: Value, e: Builder) -> Value:
    """Return scales or zero points in a shape that broadcasts to the data."""
    groups, rank = op.groups(), len(shape_of(op.src))
    if not groups:
        axis = op.quantization_axis()
        vector = _scalar_or_vector(op, vector.value, e)
        behind = range(0) if axis is None else range(1, rank - axis)
        return vector.unsqueeze(behind) if behind else vector
    emit = e.emit
    sizes = [emit.sizes(vector.value, [axis]) for axis in range(rank)]
    repeats = [part for size, group in zip(sizes, groups, strict=True) for part in (size, emit.ints([group]))]
    spread = vector.unsqueeze(range(1, 2 * rank, 2))
    expanded = spread.apply(onnx.ExpandOp, e(emit.concat(repeats)))
    joined = [emit.mul(size, emit.ints([group])) for size, group in zip(sizes, groups, strict=True)]
    return expanded.apply(onnx.ReshapeOp, e(emit.concat(joined)))


CONVERSIONS: Mapping[str, Callable[..., Sequence[Value]]] = MappingProxyType(
    {
        "Dequantize": dequantize,
        "DynamicDequantize": dynamic_dequantize,
        "DynamicQuantize": dynamic_quantize,
        "Quantize": quantize,
    }
)
