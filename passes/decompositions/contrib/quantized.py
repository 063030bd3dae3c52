"""Decompositions of ops on 8-bit codes: float ops between DequantizeLinear and QuantizeLinear.

Results equal those of integer kernels, except for rounding ties.
"""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute

from dialects.onnx import ops as onnx
from dialects.support.dtypes import of_mlir
from dialects.support.shapes import static
from passes.autodiff.common.primal import Primal, refusal
from passes.autodiff.common.slice_adjoint import size_of, vector
from passes.autodiff.rules.quantize import spread
from passes.builder.values import Builder, Value
from passes.decompositions.contrib.attention import attention, sum_embeddings, unmasked_words
from passes.decompositions.contrib.packed_weights import mark_as_packed
from passes.decompositions.registry import Results

LARGE = 4096
"""Weights of at least so many codes are stored as codes, smaller ones as floats."""

_CONV_ATTRIBUTES = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")


def dequantize(x: Value, scale: Value, zero: Value | None, axis: int) -> Value:
    """Return (x - zero point) scale, per tensor or along an axis."""
    scale, zero = _squeeze_scalar(scale), None if zero is None else _squeeze_scalar(zero)
    if zero is not None and scale.rank != zero.rank:
        scale, zero = _broadcast_scalar(scale, zero), _broadcast_scalar(zero, scale)
    own = {"axis": axis} if scale.rank else {}
    if _is_large_weight(x):
        wide = mark_as_packed(x.cast(scale.dtype))
        wide = wide if zero is None else wide - spread(zero, x, own).cast(scale.dtype)
        return wide * spread(scale, x, own)
    return x.apply(onnx.DequantizeLinearOp, scale, zero, **own)


def _is_large_weight(x: Value) -> bool:
    """Return whether to store x as codes: runtimes fold a Cast, but not a DequantizeLinear."""
    return isinstance(x.value.owner, onnx.ConstantOp) and prod(static(x.shape) or ()) >= LARGE


def quantize(x: Value, scale: Value, zero: Value | None, dtype: Attribute) -> Value:
    """Quantize to the zero point's type, or else to `dtype`."""
    if zero is None:
        known = of_mlir(dtype)
        assert known is not None
        zero = x.e(x.e.emit.constant(np.zeros((), known.numpy)))
    return x.apply(onnx.QuantizeLinearOp, _squeeze_scalar(scale), _squeeze_scalar(zero))


def _squeeze_scalar(x: Value) -> Value:
    """Squeeze a vector of one element."""
    return x.squeeze([0]) if x.shape == (1,) else x


def _broadcast_scalar(x: Value, like: Value) -> Value:
    return x if x.rank else x.apply(onnx.ExpandOp, vector(like, [size_of(like, 0)]))


def _dequantize_operand(f: Primal, index: int, axis: int = 0) -> Value:
    """Dequantize the codes, scale and zero point that start at operand `index`."""
    codes, scale = f.required(index), f.required(index + 1)
    return dequantize(codes, scale, f.operand(index + 2), axis)


def _quantize_result(f: Primal, x: Value, index: int) -> Results:
    """Quantize by the scale and zero point that start at operand `index`, to the first operand's type."""
    scale = f.required(index)
    return [quantize(x, scale, f.operand(index + 1), f.x.dtype)]


# Products


def qlinear_conv(f: Primal, e: Builder) -> Results:
    """QLinearConv, whose bias has scale x_scale w_scale."""
    last = f.value("channels_last", 0)
    x, w, bias = _dequantize_operand(f, 0), _dequantize_operand(f, 3), f.operand(8)
    if bias is not None:
        bias = dequantize(bias, _product_scale(f, 1, 4), None, 0)
    given = {name: value for name, value in f.attributes.items() if name in _CONV_ATTRIBUTES}
    y = (to_channels_first(x) if last else x).apply(onnx.ConvOp, w, bias, **given)
    return _quantize_result(f, to_channels_last(y) if last else y, 6)


def _product_scale(f: Primal, one: int, other: int, factor: float = 1.0) -> Value:
    a, b = f.required(one), f.required(other)
    found = _squeeze_scalar(a) * _squeeze_scalar(b)
    return found if factor == 1 else found * factor


def to_channels_first(x: Value) -> Value:
    """Move channels from the last axis to axis 1."""
    return x.transpose([0, x.rank - 1, *range(1, x.rank - 1)])


def to_channels_last(x: Value) -> Value:
    return x.transpose([0, *range(2, x.rank), 1])


def qlinear_matmul(f: Primal, e: Builder) -> Results:
    b = f.required(3)
    y = _dequantize_operand(f, 0, max(f.x.rank - 2, 0)).apply(
        onnx.MatMulOp, _dequantize_operand(f, 3, b.rank - 1)
    )
    return _quantize_result(f, y, 6)


def q_gemm(f: Primal, e: Builder) -> Results:
    """alpha A B + C, C with scale alpha a_scale b_scale; floats without a scale of y."""
    alpha, transposed = f.value("alpha", 1.0), f.value("transB", 0)
    own = {"alpha": alpha, "transA": f.value("transA", 0), "transB": transposed}
    c = f.operand(6)
    if c is not None:
        c = dequantize(c, _product_scale(f, 1, 4, alpha), None, c.rank - 1)
    y = _dequantize_operand(f, 0).apply(
        onnx.GemmOp, _dequantize_operand(f, 3, 0 if transposed else 1), c, **own
    )
    return [y] if f.operand(7) is None else _quantize_result(f, y, 7)


def dynamic_quantize_matmul(f: Primal, e: Builder) -> Results:
    """MatMul with A rounded by its range."""
    return [_with_bias(_product(f, _round_by_range(f.x), (1, 2, 3)), f.operand(4))]


def dynamic_quantize_lstm(f: Primal, e: Builder) -> Results:
    """A float LSTM of dequantized weights, rounded input and first state; hidden states are not rounded."""
    first = f.operand(5)
    x, h = _round_by_range(f.x), None if first is None else _round_by_range(first)
    w, r = (_of_gates(f, codes, scale) for codes, scale in ((1, 8), (2, 10)))
    others = [f.operand(3), f.operand(4), h, f.operand(6), f.operand(7)]
    given = [None if operand is None else operand.value for operand in others]
    return list(map(e, e.emit.all(onnx.LSTMOp(x.value, w.value, r.value, *given, **f.attributes))))


def _round_by_range(x: Value) -> Value:
    codes, scale, zero = map(x.e, x.e.emit.all(onnx.DynamicQuantizeLinearOp(x.value)))
    return dequantize(codes, scale, zero, 0)


def _of_gates(f: Primal, index: int, scale: int) -> Value:
    """Dequantize weights (directions, size, 4 hidden), per direction or column, and transpose them for
    LSTM."""
    codes, by, apart = f.required(index), f.required(scale), f.operand(scale + 1)
    numbers = codes.cast(by.dtype)
    numbers = mark_as_packed(numbers) if _is_large_weight(codes) else numbers
    if apart is not None:
        numbers = numbers - _of_columns(apart.cast(by.dtype))
    return (numbers * _of_columns(by)).transpose([0, 2, 1])


def _of_columns(x: Value) -> Value:
    return x.unsqueeze([1, 2] if x.rank == 1 else [1])


def matmul_integer_to_float(f: Primal, e: Builder) -> Results:
    scale = f.required(2)
    a = dequantize(f.x, scale, f.operand(4), max(f.x.rank - 2, 0))
    return [_with_bias(_product(f, a, (1, 3, 5)), f.operand(6))]


def _product(f: Primal, a: Value, places: tuple[int, int, int]) -> Value:
    """MatMul with the codes, scale and zero point at `places`."""
    codes, scale, zero = f.required(places[0]), f.required(places[1]), f.operand(places[2])
    return a.apply(onnx.MatMulOp, dequantize(codes, scale, zero, codes.rank - 1))


def _with_bias(x: Value, bias: Value | None) -> Value:
    return x if bias is None else x + bias


# Element by element


def qlinear_add(f: Primal, e: Builder) -> Results:
    return _quantize_result(f, _dequantize_operand(f, 0) + _dequantize_operand(f, 3), 6)


def qlinear_mul(f: Primal, e: Builder) -> Results:
    return _quantize_result(f, _dequantize_operand(f, 0) * _dequantize_operand(f, 3), 6)


def qlinear_sigmoid(f: Primal, e: Builder) -> Results:
    return _quantize_result(f, _dequantize_operand(f, 0).sigmoid(), 3)


def qlinear_leaky_relu(f: Primal, e: Builder) -> Results:
    return _quantize_result(
        f, _dequantize_operand(f, 0).apply(onnx.LeakyReluOp, alpha=f.value("alpha", 0.01)), 3
    )


def qlinear_where(f: Primal, e: Builder) -> Results:
    scale, zero = f.required(7), f.operand(8)
    y = f.x.where(_dequantize_operand(f, 1), _dequantize_operand(f, 4))
    return [quantize(y, scale, zero, f.x.dtype)]


def qlinear_concat(f: Primal, e: Builder) -> Results:
    if (len(f.operands) - 2) % 3 or None in f.operands[2:]:
        raise refusal("inputs", given=len(f.operands) - 2, expected="data, a scale and a zero point each")
    parts = [_dequantize_operand(f, index).value for index in range(2, len(f.operands), 3)]
    return [quantize(e(e.emit(onnx.ConcatOp(parts, axis=f.value("axis")))), f.x, f.operand(1), f32)]


def qlinear_softmax(f: Primal, e: Builder) -> Results:
    """QLinearSoftmax; before opset 13 over all axes from `axis` on."""
    x, version = _dequantize_operand(f, 0), f.value("opset", 13)
    axis = f.value("axis", -1 if version >= 13 else 1) % max(x.rank, 1)
    if version >= 13 or axis == x.rank - 1:
        return _quantize_result(f, x.apply(onnx.SoftmaxOp, axis=axis), 3)
    rows = x.apply(onnx.FlattenOp, axis=axis).apply(onnx.SoftmaxOp, axis=-1)
    return _quantize_result(f, rows.apply(onnx.ReshapeOp, e.shape(x), allowzero=1), 3)


# Pools and means


def qlinear_average_pool(f: Primal, e: Builder) -> Results:
    last = f.value("channels_last", 0)
    own = ("auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides")
    given = {name: value for name, value in f.attributes.items() if name in own}
    x = _dequantize_operand(f, 0)
    y = (to_channels_first(x) if last else x).apply(onnx.AveragePoolOp, **given)
    return _quantize_result(f, to_channels_last(y) if last else y, 3)


def qlinear_global_average_pool(f: Primal, e: Builder) -> Results:
    last = f.value("channels_last", 0)
    x = _dequantize_operand(f, 0)
    axes = range(1, x.rank - 1) if last else range(2, x.rank)
    return _quantize_result(f, x.apply(onnx.ReduceMeanOp, e.ints(axes), keepdims=1), 3)


def qlinear_reduce_mean(f: Primal, e: Builder) -> Results:
    axes = f.value("axes")
    own = {"keepdims": f.value("keepdims", 1)}
    return _quantize_result(
        f, _dequantize_operand(f, 0).apply(onnx.ReduceMeanOp, e.ints(axes) if axes else None, **own), 3
    )


# Attention


def q_attention(f: Primal, e: Builder) -> Results:
    scale, zero = f.required(4), f.operand(7)
    weights = f.required(1)
    input_scale = f.required(3)
    x, w = dequantize(f.x, input_scale, f.operand(6), 0), dequantize(weights, scale, zero, 1)
    own = {name: value for name, value in f.attributes.items() if name != "past_present_share_buffer"}
    if f.value("past_present_share_buffer", 0):
        raise refusal("past_present_share_buffer", given=1, expected=0)
    return attention(Primal(e, [x, w, f.operand(2), f.operand(5), f.operand(8)], own), e)


def q_embed_layer_normalization(f: Primal, e: Builder) -> Results:
    def rows(table: int, index: Value) -> Value:
        codes, scale, zero = _parts_of_table(f, table)
        return dequantize(codes.apply(onnx.GatherOp, index, axis=0), scale, zero, 0)

    def whole(table: int) -> Value:
        return dequantize(*_parts_of_table(f, table), 0)

    y, _ = sum_embeddings(f, rows, whole(5), whole(6), None)
    return [y, unmasked_words(f)]


def _parts_of_table(f: Primal, table: int) -> tuple[Value, Value, Value | None]:
    """Return the codes, scale and zero point of an embedding table, of gamma or of beta."""
    scale = f.operand(table + 6)
    if scale is None:
        raise refusal("segment_embedding_scale", given="none", expected="given with segment_embedding")
    return f.required(table), scale, f.operand(table + 11)
