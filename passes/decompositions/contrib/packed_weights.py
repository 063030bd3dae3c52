"""Products with packed weights of few bits: the file keeps the bytes, and ONNX ops unpack them.

Runtimes fold the unpacking when they load a model, so that it computes with floats.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import UnitAttr, f32, i32
from xdsl.ir import Attribute, Operation

from dialects.onnx import ops as onnx
from dialects.onnx.base import PACKED
from dialects.onnx.call import axis_of
from dialects.support.dtypes import UI8
from passes.autodiff.common.primal import Primal, refusal
from passes.autodiff.common.slice_adjoint import size_of, vector
from passes.autodiff.rules.quantize import spread
from passes.builder.values import Builder, Value
from passes.decompositions.registry import Results

BITS = (2, 4, 8)

_FP4 = (0.0, 0.005208333, 0.6666667, 1.0, 0.33333333, 0.5, 0.16666667, 0.25)
_NF4 = (
    *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635),
    *(-0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725),
    *(0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941),
    *(0.7229568362236023, 1.0),
)
_BNB4_VALUES = ((*_FP4, *(-x for x in _FP4)), _NF4)
"""Values of the 4-bit codes, by `quant_type`."""


def matmul_n_bits(f: Primal, e: Builder) -> Results:
    """A W^T + bias, W (N, K) in f32. The kernel's rounding of A by `accuracy_level` is not modeled."""
    codes, scales, bias = f.required(1), f.required(2), f.operand(5)
    bits, block, rows, width = (f.value(name) for name in ("bits", "block_size", "N", "K"))
    if (bits or 4) not in BITS:
        raise refusal("bits", given=bits, expected="2, 4 or 8")
    if f.value("weight_prepacked", 0):
        raise refusal("weight_prepacked", given=f.value("weight_prepacked"), expected=0)
    bits, blocks, order = bits or 4, -(-width // block), f.operand(4)
    if order is not None:
        _check_order(f, bits)
    numbers = mark_as_packed(unpack_codes(codes, [rows, blocks * block * bits // 8], bits).cast(f32))
    zeros = _zeros(f.operand(3), rows, blocks, bits, e)
    scales = scales.cast(f32).apply(onnx.ReshapeOp, e.ints([rows, blocks]))
    if order is not None:
        numbers = _first(numbers, width)
        apart, scales = (x if not x.rank else x.apply(onnx.GatherOp, order, axis=1) for x in (zeros, scales))
        weights = (numbers - apart) * scales
    else:
        apart, scales = (x if not x.rank else x.unsqueeze([2]) for x in (zeros, scales))
        by_block = numbers.apply(onnx.ReshapeOp, e.ints([rows, blocks, block]))
        weights = ((by_block - apart) * scales).apply(onnx.ReshapeOp, e.ints([rows, blocks * block]))
        weights = _first(weights, width)
    y = f.x.cast(f32).apply(onnx.MatMulOp, weights.transpose([1, 0]))
    return [(y if bias is None else y + bias.cast(f32)).cast(f.x.dtype)]


def _check_order(f: Primal, bits: int) -> None:
    """Reject variants that onnxruntime's CPU kernel misreads: codes of other sizes as 4-bit, and u8 zero
    points."""
    zeros = f.operand(3)
    if bits != 4:
        raise refusal("bits with g_idx", given=bits, expected=4)
    if zeros is not None and zeros.dtype == UI8:
        hint = "onnxruntime's CPU kernel uses 8 instead"
        raise refusal("zero_points of u8 with g_idx", expected="none", hint=hint)


def unpack_codes(packed: Value, sizes: list[int], bits: int) -> Value:
    """Return u8 codes from rows of packed bytes, lowest bits first."""
    e = packed.e
    rows, count = sizes
    if bits == 8:
        return packed.apply(onnx.ReshapeOp, e.ints([rows, count]))
    upwards = np.array(range(8 - bits, -1, -bits), np.uint8)
    whole = packed.apply(onnx.ReshapeOp, e.ints([rows, count, 1]))
    highest = whole.apply(onnx.BitShiftOp, e(e.emit.constant(upwards)), direction="LEFT")
    mark_as_packed(highest)
    found = highest.apply(
        onnx.BitShiftOp, e(e.emit.constant(np.array(8 - bits, np.uint8))), direction="RIGHT"
    )
    return found.apply(onnx.ReshapeOp, e.ints([rows, count * 8 // bits]))


def mark_as_packed(x: Value) -> Value:
    """Mark a computed value as not to be folded."""
    if isinstance(x.value.owner, Operation):
        x.value.owner.attributes[PACKED] = UnitAttr()
    return x


def _zeros(given: Value | None, rows: int, blocks: int, bits: int, e: Builder) -> Value:
    """Return one zero point, or one per block: floats, or codes whose rows start at a byte."""
    if given is None:
        return e(e.emit.constant(np.array(2 ** (bits - 1), np.float32)))
    if given.dtype != UI8:
        return given.cast(f32).apply(onnx.ReshapeOp, e.ints([rows, blocks]))
    return _first(unpack_codes(given, [rows, -(-blocks * bits // 8)], bits), blocks).cast(f32)


def _first(x: Value, count: int) -> Value:
    """Return the first `count` elements of each row."""
    if x.shape[1] == count:
        return x
    return x.apply(onnx.SliceOp, x.e.ints([0]), x.e.ints([count]), x.e.ints([1]))


def matmul_bnb4(f: Primal, e: Builder) -> Results:
    """A W^T, W (N, K): the upper code of a byte comes first; blocks continue across rows."""
    codes, largest = f.required(1), f.required(2)
    kind, block, rows, width = (f.value(name) for name in ("quant_type", "block_size", "N", "K"))
    count = rows * width
    if not f.value("transB", 1):
        raise refusal("transB", given=0, expected=1)
    pairs = unpack_codes(codes, [-(-count // 2), 1], 4).apply(onnx.GatherOp, e.ints([1, 0]), axis=1)
    table = e(e.emit.constant(np.array(_BNB4_VALUES[kind], np.float32)))
    flat = pairs.apply(onnx.ReshapeOp, e.ints([1, -1]))
    numbers = _first(table.apply(onnx.GatherOp, flat.cast(i32), axis=0), count)
    weights = numbers * _repeat(largest.cast(f32), block, count)
    matrix = weights.apply(onnx.ReshapeOp, e.ints([rows, width])).transpose([1, 0])
    return [f.x.cast(f32).apply(onnx.MatMulOp, matrix).cast(f.x.dtype)]


def _repeat(x: Value, times: int, count: int) -> Value:
    """Repeat each element `times` times, `count` in all, as one row."""
    e, blocks = x.e, -(-count // times)
    wide = x.apply(onnx.ReshapeOp, e.ints([blocks, 1])).apply(onnx.ExpandOp, e.ints([blocks, times]))
    return _first(wide.apply(onnx.ReshapeOp, e.ints([1, blocks * times])), count)


def gather_block_quantized(f: Primal, e: Builder) -> Results:
    """Gather from a table of codes, (codes - zero points) scales, blocked along an axis."""
    indices, scales, zeros, bits = f.required(1), f.required(2), f.operand(3), f.value("bits", 4)
    if {x.rank for x in (scales, zeros) if x is not None} != {f.x.rank}:
        raise refusal("rank of scales and zero_points", expected="that of data")
    names = enumerate(("gather_axis", "quantize_axis"))
    among, along = (axis_of(f.value(name, i), f.x.rank) for i, name in names)
    if f.x.dtype == UI8 and (along != f.x.rank - 1 or not isinstance(f.x.shape[-1], int) or bits not in BITS):
        raise refusal("a table of u8", expected="bytes along the last axis, of a known number")
    if scales.shape[among] != f.x.shape[among] and among != along:
        raise refusal("scales", given="one for several rows", expected="one row for each of the table's")

    def chosen(x: Value) -> Value:
        wide = x if x.dtype in (UI8, scales.dtype) else mark_as_packed(x.cast(scales.dtype))
        return wide.apply(onnx.GatherOp, indices, axis=among)

    own = {"axis": along, "block_size": f.value("block_size", 128)}
    if among == along:
        table = f.x if f.x.dtype == UI8 else mark_as_packed(f.x.cast(scales.dtype))
        return [chosen(_dequantize(table, scales, zeros, bits, own))]
    own["axis"] += indices.rank - 1 if along > among else 0
    apart = None if zeros is None else chosen(zeros)
    return [_dequantize(chosen(f.x), chosen(scales), apart, bits, own)]


def _dequantize(codes: Value, by: Value, zeros: Value | None, bits: int, own: dict[str, int]) -> Value:
    """Dequantize; u8 codes are packed along the last axis, with half their range as default zero point."""
    numbers = _numbers(codes, bits, by.dtype)
    if zeros is not None:
        apart = _first_of(_numbers(zeros, bits, by.dtype), by, own["axis"])
        numbers = numbers - spread(apart, numbers, own)
    elif codes.dtype == UI8:
        numbers = numbers - 2 ** (bits - 1)
    return numbers * spread(by, numbers, own)


def _numbers(x: Value, bits: int, dtype: Attribute) -> Value:
    """Return floats, unpacked along the last axis for bytes."""
    if x.dtype != UI8:
        return x.cast(dtype)
    count = x.shape[-1]
    assert isinstance(count, int)
    found = unpack_codes(x, [-1, count], bits).cast(dtype)
    sizes = [*(size_of(x, axis) for axis in range(x.rank - 1)), count * 8 // bits]
    return found.apply(onnx.ReshapeOp, vector(x, sizes), allowzero=1)


def _first_of(x: Value, like: Value, axis: int) -> Value:
    """Crop an axis to the size of `like`, without the padding of the last byte."""
    if x.shape[axis] == like.shape[axis]:
        return x
    count = vector(like, [size_of(like, axis)])
    return x.apply(onnx.SliceOp, x.e.ints([0]), count, x.e.ints([axis])).assume_shape(like.shape)
