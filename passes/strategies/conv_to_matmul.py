"""conv-to-matmul: convolution gradients as one matrix product per group.

1. Kernel 1 in all axes: weights (C / g, O / g) times diff_dst (O / g, Y). In ConvBackwardData a stride
   puts s - 1 zeros behind every position, pads and residue cut the ends.
2. Otherwise the columns that each result position reads are gathered first: per axis a table of
   positions (K, X) into diff_dst, in which whatever lies outside, or between strides, points at an
   appended zero. Then weights (C / g, O / g K) times columns (O / g K, X).

Form 2 works for every dtype, stride, dilation and rank that MatMul, Gather and Pad take.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
from xdsl.ir import SSAValue

from dialects.grad.conv import ConvBackwardDataOp, ConvTransposeBackwardDataOp
from dialects.grad.geometry import ConvAxis
from dialects.onnx import ops as onnx
from dialects.support import shapes
from dialects.support.shapes import shape_of
from passes.strategies.base import Strategy, no_kernel
from passes.support.budget import Built
from passes.support.rewriting import Emitter
from passes.support.tensors import Size, multiply_left, product, reshape, size_of, take_static_window
from passes.target import Target

ConvOp = ConvBackwardDataOp | ConvTransposeBackwardDataOp


class ConvToMatMul(Strategy):
    """MatMul on diff_dst itself for kernel 1, on gathered columns otherwise."""

    name: ClassVar[str] = "conv-to-matmul"
    ops: ClassVar = (ConvBackwardDataOp, ConvTransposeBackwardDataOp)

    def builds(self, op: ConvOp) -> Built:
        """A table of positions per axis, unless the op is a product."""
        spread = math.prod(op.weights_shape[2:]) * math.prod(op.value("strides"))
        if is_pointwise(op):
            return Built(0, 10, spread)
        sizes = [x for x in op.spatial(op.diff_src) if isinstance(x, int)]
        tables = sum(k * x for k, x in zip(op.weights_shape[2:], sizes, strict=False))
        return Built(tables, 20, spread)

    def refuses(self, op: ConvOp, target: Target) -> str | None:
        if reason := no_kernel(target, op.diff_dst, onnx.MatMulOp, onnx.GatherOp, onnx.PadOp):
            return reason
        sizes = (*shape_of(op.diff_dst)[2:], *shape_of(op.diff_src)[2:])
        if not is_pointwise(op) and not shapes.is_static(sizes):
            return "the columns of a kernel larger than 1 need spatial sizes known at compile time"
        return None

    def mixes(self, op: ConvOp, target: Target) -> str | None:
        return None if is_pointwise(op) else "columns have zeros that are multiplied by the weights"

    def emit(self, op: ConvOp, target: Target, emit: Emitter) -> SSAValue:
        return _pointwise(op, emit) if is_pointwise(op) else _columns(op, emit)


def is_pointwise(op: ConvOp) -> bool:
    """Whether the result is a matrix product of diff_dst itself: kernel 1, and whole windows."""
    if any(k != 1 for k in op.weights_shape[2:]):
        return False
    if isinstance(op, ConvBackwardDataOp):
        return True
    return all(axis.window.stride == 1 and axis.pads == (0, 0) for axis in op.axes)


def _pointwise(op: ConvOp, emit: Emitter) -> SSAValue:
    groups = op.value("groups")
    first, second, *kernel = op.weights_shape
    batch, *spatial = (size_of(emit, op.diff_dst, a) for a in (0, *range(2, 2 + len(kernel))))
    matrix = reshape(emit, op.weights, [groups, first // groups, second])
    rows, width = groups * second, first
    if isinstance(op, ConvBackwardDataOp):
        matrix = emit(onnx.TransposeOp(matrix, perm=[0, 2, 1]))
        rows, width = width, rows
    value = _grouped_product(op.diff_dst, matrix, groups, rows, batch, product(emit, spatial), emit)
    value = reshape(emit, value, [batch, width, *spatial])
    return _strided(op, value, batch, spatial, emit) if isinstance(op, ConvBackwardDataOp) else value


def _grouped_product(
    data: SSAValue,
    matrix: SSAValue,
    groups: int,
    rows: int,
    batch: Size,
    length: Size,
    emit: Emitter,
) -> SSAValue:
    """matrix (g, M, rows / g) times data (N, rows, length): (N, g, M, length), or (N, M, length)."""
    if groups > 1:
        columns = reshape(emit, data, [batch, groups, rows // groups, length])
        return multiply_left(emit, matrix, columns)
    columns = reshape(emit, data, [batch, rows, length])
    flat = [dim for dim in shape_of(matrix)[1:] if isinstance(dim, int)]
    return multiply_left(emit, reshape(emit, matrix, flat), columns)


def _strided(
    op: ConvBackwardDataOp, value: SSAValue, batch: Size, spatial: Sequence[Size], emit: Emitter
) -> SSAValue:
    """Position y goes to y s - pb: s - 1 zeros behind each, then the window [pb, pb + X)."""
    strides = op.value("strides")
    if any(s > 1 for s in strides):
        n = len(strides)
        apart = emit(onnx.UnsqueezeOp(value, emit.ints([3 + 2 * i for i in range(n)])))
        zeros = [0, 0, *(0 if i % 2 == 0 else strides[i // 2] - 1 for i in range(2 * n))]
        padded = emit(onnx.PadOp(apart, emit.ints([*[0] * len(zeros), *zeros])))
        channels = shape_of(value)[1]
        assert isinstance(channels, int)
        sizes = [product(emit, [y, s]) for y, s in zip(spatial, strides, strict=True)]
        value = reshape(emit, padded, [batch, channels, *sizes])
    return _cut(op, value, emit)


def _cut(op: ConvBackwardDataOp, value: SSAValue, emit: Emitter) -> SSAValue:
    """The window [pb, pb + X) of each axis; X + pb <= s Y, since r < s and Ke = 1.

    Pads larger than the positions that a gradient reaches leave fewer than X: for Ke = 1 they do not,
    the forward op would read nothing but padding.
    """
    begin = op.value("pads_begin")
    sizes = shape_of(op.diff_src)[2:]
    if shapes.is_static(sizes):
        return take_static_window(emit, value, begin, [x for x in sizes if isinstance(x, int)])
    # unknown Y: X = s Y - (s - 1) - pb - pe + r, so as many positions go from the end of s Y
    ends = [
        axis.window.stride - 1 + axis.pad_end - r
        for axis, r in zip(op.axes, op.value("residue"), strict=True)
    ]
    if not any((*begin, *ends)):
        return value
    far = np.iinfo(np.int64).max
    stops = [-end if end else far for end in ends]
    axes = emit.ints(range(2, 2 + len(stops)))
    return emit(onnx.SliceOp(value, emit.ints(begin), emit.ints(stops), axes))


def _columns(op: ConvOp, emit: Emitter) -> SSAValue:
    groups = op.value("groups")
    n = len(op.axes)
    rows = shape_of(op.weights)[0] if isinstance(op, ConvBackwardDataOp) else None
    channels = rows if isinstance(rows, int) else op.weights_shape[1] * groups
    taps = [axis.window.kernel for axis in op.axes]
    result = [x for x in shape_of(op.diff_src)[2:] if isinstance(x, int)]
    read = _backward_reads if isinstance(op, ConvBackwardDataOp) else _forward_reads
    gathered = _gather(op.diff_dst, _tables(op, read), emit)
    # (N, channels, K1, X1, K2, X2, ..) -> (N, channels, K.., X..)
    order = [0, 1, *range(2, 2 + 2 * n, 2), *range(3, 3 + 2 * n, 2)]
    columns = emit(onnx.TransposeOp(gathered, perm=order))
    batch = size_of(emit, op.diff_dst, 0)
    depth, length = channels * int(np.prod(taps)), int(np.prod(result))
    matrix = _matrix(op, emit)
    value = _grouped_product(columns, matrix, groups, depth, batch, length, emit)
    width = shape_of(op.diff_src)[1]
    assert isinstance(width, int)
    return reshape(emit, value, [batch, width, *result])


def _matrix(op: ConvOp, emit: Emitter) -> SSAValue:
    """Weights as (g, C / g, O / g K)."""
    groups = op.value("groups")
    first, second, *kernel = op.weights_shape
    taps = int(np.prod(kernel))
    if isinstance(op, ConvTransposeBackwardDataOp):
        return reshape(emit, op.weights, [groups, first // groups, second * taps])
    split = reshape(emit, op.weights, [groups, first // groups, second, taps])
    swapped = emit(onnx.TransposeOp(split, perm=[0, 2, 1, 3]))
    return reshape(emit, swapped, [groups, second, first // groups * taps])


def _tables(op: ConvOp, read: Callable[[ConvAxis, np.ndarray, np.ndarray], np.ndarray]):
    """Per axis, the position of diff_dst that tap k of result position x reads; Y where it is zero."""
    sizes = zip(op.axes, shape_of(op.diff_dst)[2:], shape_of(op.diff_src)[2:], strict=True)
    for axis, y, x in sizes:
        assert isinstance(y, int)
        assert isinstance(x, int)
        position = read(axis, np.arange(axis.window.kernel)[:, None], np.arange(x)[None, :])
        yield np.where((position >= 0) & (position < y), position, y)


def _backward_reads(axis: ConvAxis, k: np.ndarray, x: np.ndarray) -> np.ndarray:
    """y = (x + pb - k d) / s where s divides it, else -1."""
    reached = x + axis.pad_begin - k * axis.window.dilation
    return np.where(reached % axis.window.stride == 0, reached // axis.window.stride, -1)


def _forward_reads(axis: ConvAxis, k: np.ndarray, x: np.ndarray) -> np.ndarray:
    """x s - pb + k d."""
    return x * axis.window.stride - axis.pad_begin + k * axis.window.dilation


def _gather(diff_dst: SSAValue, tables, emit: Emitter) -> SSAValue:
    """(N, C, Y1, Y2, ..) with one zero appended per axis -> (N, C, K1, X1, K2, X2, ..)."""
    n = len(shape_of(diff_dst)) - 2
    value = emit(onnx.PadOp(diff_dst, emit.ints([0] * (n + 2) + [0, 0] + [1] * n)))
    for i, table in enumerate(tables):
        value = emit(onnx.GatherOp(value, emit.constant(table.astype(np.int64)), axis=2 + 2 * i))
    return value
