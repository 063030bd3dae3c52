"""Parts of the gradient of a convolution with respect to its weights.

All tensors are channels first: the windows slide over `src` (N, C, X...), and `diff_dst` (N, O, Y...) has a
value per window. Tap k of window y reads src at y s - pb + k d.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from dialects.grad.conv_weights import ConvBackwardWeightsOp
from dialects.grad.geometry import ConvAxis, Window
from dialects.onnx import ops as onnx
from dialects.support import layouts, shapes
from dialects.support.dtypes import known_dtype
from dialects.support.shapes import element_type_of, shape_of, static_size
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import Size, pad_axes, product, reshape, size_of

Tap = tuple[int, ...]


@dataclass(frozen=True)
class Taps:
    """Windows, and begin and end pads of the spatial axes, static or int64 vectors."""

    windows: Sequence[Window]
    begin: Sequence[int] | SSAValue
    end: Sequence[int] | SSAValue

    @classmethod
    def of(cls, axes: Sequence[ConvAxis]) -> Taps:
        begin, end = ([axis.pad_begin for axis in axes], [axis.pad_end for axis in axes])
        return cls([axis.window for axis in axes], begin, end)

    @property
    def kernel(self) -> list[int]:
        return [window.kernel for window in self.windows]

    def all(self) -> Iterator[Tap]:
        return itertools.product(*map(range, self.kernel))

    @property
    def is_whole(self) -> bool:
        """True if the only tap reads all of src in order."""
        units = all(window.kernel == window.stride == 1 for window in self.windows)
        return units and not isinstance(self.begin, SSAValue) and not self.has_pads

    @property
    def has_pads(self) -> bool:
        return any(isinstance(side, SSAValue) or any(side) for side in (self.begin, self.end))


def channels_first(op: ConvBackwardWeightsOp, emit: OpBuilder) -> tuple[SSAValue, SSAValue]:
    """Return src and diff_dst of an op, transposed to channels first."""
    if op.layout == "NCX":
        return op.src, op.diff_dst
    perm = layouts.permutation(op.layout, "NCX", op.spatial_rank)
    src, diff_dst = (emit(onnx.TransposeOp(value, perm=perm)) for value in op.operands)
    return src, diff_dst


def tap_reads(emit: OpBuilder, src: SSAValue, diff_dst: SSAValue, taps: Taps) -> list[SSAValue]:
    """Return the reads of each tap for all windows, (N, C, Y...), with zeros in the padding."""
    if taps.is_whole:
        return [src]
    padded = _pad_src(emit, src, taps)
    rank = len(shape_of(src))
    axes, strides = range(2, rank), [window.stride for window in taps.windows]
    reach = emit.mul(emit.sizes(diff_dst, axes), emit.ints(strides))
    found: list[SSAValue] = []
    for tap in taps.all():
        first = emit.ints([k * w.dilation for k, w in zip(tap, taps.windows, strict=True)])
        bounds = (first, emit.add(first, reach), emit.ints(axes), emit.ints(strides))
        found.append(emit(onnx.SliceOp(padded, *bounds[: 4 if any(s > 1 for s in strides) else 3])))
    return found


def _pad_src(emit: OpBuilder, src: SSAValue, taps: Taps) -> SSAValue:
    if not taps.has_pads:
        return src
    begin, end = (side if isinstance(side, SSAValue) else emit.ints(side) for side in (taps.begin, taps.end))
    return pad_axes(emit, src, range(2, len(shape_of(src))), begin, end)


def without_padding(emit: OpBuilder, src: SSAValue, diff_dst: SSAValue, taps: Taps) -> Iterator[SSAValue]:
    """Yield diff_dst for each tap, 0 where the tap reads padding, so that 0 * inf is not computed."""
    inside = [_inside(emit, src, diff_dst, taps, axis) for axis in range(len(taps.windows))]
    zero = emit.constant(np.zeros((), known_dtype(element_type_of(diff_dst)).numpy))
    for tap in taps.all():
        value, mask = diff_dst, None
        for k, along in zip(tap, inside, strict=True):
            mask = _both(emit, mask, along[k])
        if mask is not None:
            value = emit(onnx.WhereOp(mask, diff_dst, zero))
        yield value


def _both(emit: OpBuilder, one: SSAValue | None, other: SSAValue | None) -> SSAValue | None:
    """Return the conjunction of two masks; None is all true."""
    if one is None or other is None:
        return other if one is None else one
    return emit(onnx.AndOp(one, other))


def _inside(
    emit: OpBuilder, src: SSAValue, diff_dst: SSAValue, taps: Taps, axis: int
) -> list[SSAValue | None]:
    """Return masks over the taps of an axis: y s - pb + k d is a position of src. None is all true."""
    window, n = taps.windows[axis], len(taps.windows)
    x, y, begin = shape_of(src)[2 + axis], shape_of(diff_dst)[2 + axis], taps.begin
    steps = [k * window.dilation for k in range(window.kernel)]
    column = [-1 if i == axis else 1 for i in range(n)]
    if isinstance(x, int) and isinstance(y, int) and not isinstance(begin, SSAValue):
        places = [np.arange(y) * window.stride - begin[axis] + step for step in steps]
        known = [(place >= 0) & (place < x) for place in places]
        return [None if mask.all() else emit.constant(mask.reshape(1, 1, *column)) for mask in known]
    bound = emit.sizes(src, [2 + axis])
    pad = emit.take(begin, [axis]) if isinstance(begin, SSAValue) else emit.ints([begin[axis]])
    zero, one = (emit.constant(np.array(value, np.int64)) for value in (0, 1))
    count = emit(onnx.SqueezeOp(emit.sizes(diff_dst, [2 + axis]), emit.ints([0])))
    windows = emit.mul(emit(onnx.RangeOp(zero, count, one)), emit.ints([window.stride]))
    origin = emit.sub(windows, pad)
    found: list[SSAValue | None] = []
    for step in steps:
        place = emit.add(origin, emit.ints([step]))
        mask = emit(onnx.AndOp(_not_negative(emit, place), emit(onnx.LessOp(place, bound))))
        found.append(emit(onnx.ReshapeOp(mask, emit.ints([1, 1, *column]))))
    return found


def _not_negative(emit: OpBuilder, place: SSAValue) -> SSAValue:
    return emit(onnx.GreaterOrEqualOp(place, emit.ints([0])))


def product_of(emit: OpBuilder, diff_dst: SSAValue, reads: SSAValue, groups: int) -> SSAValue:
    """Contract diff_dst (N, O, Y...) and reads (N, R..., Y...) over N and windows to (O, R / groups), each
    group of O with its part of R. `reads` may have a single axis for all windows."""
    batch, out = size_of(emit, diff_dst, 0), static_size(diff_dst, 1)
    rank = len(shape_of(diff_dst))
    rows, length = _rows(reads, rank), _length(emit, diff_dst, batch)
    if batch == 1 and groups == 1:
        left, right = reshape(emit, diff_dst, [out, length]), reshape(emit, reads, [rows, length])
        return emit(onnx.GemmOp(left, right, transB=1))
    right = reshape(emit, reads, _with_groups(batch, groups, rows, length))
    if groups == out > 1:
        products = emit(onnx.MatMulOp(right, reshape(emit, diff_dst, [batch, groups, length, 1])))
    else:
        left = reshape(emit, diff_dst, _with_groups(batch, groups, out, length))
        order = [*range(len(shape_of(right)) - 2), len(shape_of(right)) - 1, len(shape_of(right)) - 2]
        products = emit(onnx.MatMulOp(left, emit(onnx.TransposeOp(right, perm=order))))
        if length == -1:
            products = _zero_if_empty(emit, diff_dst, products)
    if batch != 1:
        products = emit(onnx.ReduceSumOp(products, emit.ints([0]), keepdims=0))
    return reshape(emit, products, [out, rows // groups])


def _zero_if_empty(emit: OpBuilder, diff_dst: SSAValue, products: SSAValue) -> SSAValue:
    """Select 0 for an empty sum: onnxruntime 1.31 does not write a product with a fused Transpose."""
    dtype = known_dtype(element_type_of(products))
    some = emit(onnx.CastOp(emit.sizes(diff_dst, [2]), to=i1))
    return emit(onnx.WhereOp(some, products, emit.constant(np.zeros(1, dtype.numpy))))


def _length(emit: OpBuilder, diff_dst: SSAValue, batch: Size) -> Size:
    """Return the number of windows. With one image but a dynamic number of windows, it may be 0: then -1,
    which Reshape infers, as it would read 0 as "copy"."""
    found = product(emit, [size_of(emit, diff_dst, axis) for axis in range(2, len(shape_of(diff_dst)))])
    return -1 if batch == 1 and not isinstance(found, int) else found


def _rows(reads: SSAValue, rank: int) -> int:
    """Return the product of the sizes between batch and windows."""
    shape = shape_of(reads)
    known = shapes.static(shape[1 : 2 if len(shape) < rank else len(shape) - rank + 2])
    assert known is not None
    return math.prod(known)


def _with_groups(batch: Size, groups: int, channels: int, length: Size) -> list[Size]:
    return [batch, channels, length] if groups == 1 else [batch, groups, channels // groups, length]


def by_taps(
    emit: OpBuilder, src: SSAValue, diff_dst: SSAValue, taps: Taps, groups: int, *, exact: bool = False
) -> SSAValue:
    """Multiply once per tap and stack the products. `exact` skips products with padding."""
    reads = tap_reads(emit, src, diff_dst, taps)
    weighed = without_padding(emit, src, diff_dst, taps) if exact else itertools.repeat(diff_dst)
    found = [product_of(emit, g, x, groups) for g, x in zip(weighed, reads, strict=False)]
    last = emit.ints([2])
    columns = [emit(onnx.UnsqueezeOp(value, last)) for value in found]
    joined = emit(onnx.ConcatOp(columns, axis=2)) if len(columns) > 1 else columns[0]
    out, per_group = shapes.static_shape(found[0]) or (0, 0)
    return reshape(emit, joined, [out, per_group, *taps.kernel])
