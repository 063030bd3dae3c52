"""Decompositions of binary bitwise ops and Col2Im for opsets before 18."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness, i64
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.dims import ints
from dialects.support.dtypes import FLOATS, of_mlir
from dialects.support.shapes import element_type_of, has_rank, shape_of
from passes.autodiff.common.primal import Primal
from passes.builder.op_builder import OpBuilder
from passes.builder.values import Builder
from passes.decompositions.registry import Results

U64 = IntegerType(64, Signedness.UNSIGNED)
"""The dtype whose bits are shifted: a Cast to it extends the sign."""

HALF = 32

MERGES: Mapping[type[OnnxOp], Callable[[OpBuilder, SSAValue, SSAValue], SSAValue]] = {
    onnx.BitwiseAndOp: lambda emit, a, b: emit(onnx.MulOp(a, b)),
    onnx.BitwiseOrOp: lambda emit, a, b: emit(onnx.MaxOp([a, b])),
    onnx.BitwiseXorOp: lambda emit, a, b: emit(
        onnx.CastOp(emit(onnx.NotOp(emit(onnx.EqualOp(a, b)))), to=i64)
    ),
}
"""Each op on bits as integers 0 and 1."""


def bitwise(f: Primal, e: Builder) -> Results | None:
    """Before opset 18 there are only shifts: compute each bit along an additional axis."""
    op, emit = f.op, e.emit
    dtype = of_mlir(element_type_of(op.operands[0]))
    if dtype is None or not np.issubdtype(dtype.numpy, np.integer):
        return None
    width = np.dtype(dtype.numpy).itemsize * 8
    steps = np.arange(width)
    a, b = (_bits(emit, value, steps) for value in op.operands)
    bits = MERGES[type(op)](emit, a, b)
    total = _number(emit, bits, 0, min(width, HALF))
    if width > HALF:
        upper = emit(onnx.MulOp(_number(emit, bits, HALF, width), emit.constant(np.array(2**HALF, np.int64))))
        total = emit(onnx.AddOp(total, upper))
    return [total if dtype.mlir == i64 else emit(onnx.CastOp(total, to=dtype.mlir))]


def _number(emit: OpBuilder, bits: SSAValue, start: int, stop: int) -> SSAValue:
    """Return the number of a range of bits, at most half of them, as onnxruntime rounds larger sums."""
    part = emit(onnx.SliceOp(bits, emit.ints([start]), emit.ints([stop]), emit.ints([-1])))
    powers = emit.constant(np.left_shift(1, np.arange(stop - start)))
    return emit(onnx.ReduceSumOp(emit(onnx.MulOp(part, powers)), emit.ints([-1]), keepdims=0))


def _bits(emit: OpBuilder, value: SSAValue, steps: np.ndarray) -> SSAValue:
    """Return the bits of integers along a last axis, lowest first."""
    wide = emit(onnx.UnsqueezeOp(emit(onnx.CastOp(value, to=U64)), emit.ints([-1])))
    shifted = emit(onnx.BitShiftOp(wide, emit.constant(steps.astype(np.uint64)), direction="RIGHT"))
    odd = emit(onnx.ModOp(shifted, emit.constant(np.array(2, np.uint64))))
    return emit(onnx.CastOp(odd, to=i64))


def col2im(f: Primal, e: Builder) -> Results | None:
    """Before opset 18: a ConvTranspose with one channel for each element of a block."""
    op, emit = f.op_as(onnx.Col2ImOp), e.emit
    call, dtype = op.call(), of_mlir(element_type_of(op.input))
    image, block = (ints(call.operand(i).dims) for i in (1, 2))
    channels = shape_of(op.input)[1] if has_rank(op.input) else None
    if (
        image is None
        or block is None
        or not isinstance(channels, int)
        or dtype is None
        or dtype.name not in FLOATS
    ):
        return None
    rank, taps = len(block), int(np.prod(block))
    strides, dilations = (list(call.attribute(name, [1] * rank)) for name in ("strides", "dilations"))
    pads = list(call.attribute("pads", [0] * 2 * rank))
    spans = [image[i] + pads[i] + pads[rank + i] - dilations[i] * (block[i] - 1) - 1 for i in range(rank)]
    counts = [span // stride + 1 for span, stride in zip(spans, strides, strict=True)]
    if min(spans) < 0 or channels % taps:
        return None
    columns = emit(
        onnx.ReshapeOp(op.input, emit.concat([emit.sizes(op.input, [0]), emit.ints([channels, *counts])]))
    )
    weights = np.eye(taps, dtype=dtype.numpy)[None].repeat(channels // taps, 0).reshape(channels, 1, *block)
    result = emit(
        onnx.ConvTransposeOp(
            columns,
            emit.constant(weights),
            group=channels // taps,
            strides=strides,
            dilations=dilations,
            pads=pads,
            output_padding=[span % stride for span, stride in zip(spans, strides, strict=True)],
            kernel_shape=list(block),
        )
    )
    return [result]
