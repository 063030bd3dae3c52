"""Ops that move, cast or number elements, in ONNX."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from types import MappingProxyType

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from dialects.onednn.structure import (
    AxisIndexOp,
    ConcatenationOp,
    DtypeConversionOp,
    IdentityDropoutOp,
    ReshapeOp,
    TransposeOp,
    nonzero_probability,
)
from dialects.onnx import ops as onnx
from dialects.support.constants import constant_value
from dialects.support.dtypes import UI8
from dialects.support.shapes import Shape, element_type_of, shape_of
from passes.builder.budget import FREE_CONSTANTS
from passes.builder.op_builder import OpBuilder
from passes.builder.values import Builder, Value


def concat(op: ConcatenationOp, e: Builder) -> Sequence[Value]:
    return [e(e.emit(onnx.ConcatOp(list(op.operands), axis=op.concat_axis())))]


def reshape(op: ReshapeOp, e: Builder) -> Sequence[Value]:
    """Lower a reshape; a static size replaces a -1, which is ambiguous for empty tensors."""
    rows = zip(op.value("shape"), shape_of(op.dst), strict=True)
    sizes = [known if size == -1 and isinstance(known, int) else size for size, known in rows]
    if op.value("special_zero") and _is_ambiguous(sizes, shape_of(op.src)):
        return [e(op.src).apply(onnx.ReshapeOp, e(_explicit_sizes(op.src, sizes, e.emit)))]
    zeros = {"allowzero": 1} if 0 in sizes and not op.value("special_zero") else {}
    return [e(op.src).apply(onnx.ReshapeOp, e.ints(sizes), **zeros)]


def _is_ambiguous(sizes: Sequence[int], shape: Shape) -> bool:
    """Return whether a copied size may be 0 next to an inferred one."""
    kept = [axis for axis, size in enumerate(sizes) if size == 0]
    return -1 in sizes and any(not isinstance(shape[axis], int) for axis in kept)


def _explicit_sizes(src: SSAValue, sizes: Sequence[int], emit: OpBuilder) -> SSAValue:
    """Return the sizes with -1 computed from the axes that are not copied.

    Copied sizes are computed as well: onnxruntime would turn a single one among constants into -1 again.
    """
    kept = [axis for axis, size in enumerate(sizes) if size == 0]
    others = [axis for axis in range(len(shape_of(src))) if axis not in kept]
    spread = [emit.sizes(src, [axis]) for axis in others] or [emit.ints([1])]
    given = emit.ints([prod(size for size in sizes if size > 0)])
    left = emit.div(emit.product(spread), given)
    return emit.concat(
        [
            left if size == -1 else emit.ints([size]) if size else emit.sizes(src, [axis])
            for axis, size in enumerate(sizes)
        ]
    )


def transpose(op: TransposeOp, e: Builder) -> Sequence[Value]:
    return [e(op.src).transpose(op.permutation())]


def cast(op: DtypeConversionOp, e: Builder) -> Sequence[Value]:
    return [e(op.src).cast(element_type_of(op.dst))]


def indices(op: AxisIndexOp, e: Builder) -> Sequence[Value]:
    """Lower to 0, 1, 2 ... along the axis, repeated along the others."""
    axis, rank = op.resolve_axis(op.src), len(shape_of(op.src))
    emit = e.emit
    numbers = _numbers(op, axis, e)
    beside = [i for i in range(rank) if i != axis]
    column = numbers.unsqueeze(beside) if beside else numbers
    return [column.apply(onnx.ExpandOp, e(emit.sizes(op.src, range(rank))))]


def _numbers(op: AxisIndexOp, axis: int, e: Builder) -> Value:
    size = shape_of(op.src)[axis]
    if isinstance(size, int) and size <= FREE_CONSTANTS:
        return e(e.emit.constant(np.arange(size, dtype=np.int32)))
    last = e(e.emit.sizes(op.src, [axis])).squeeze([0])
    first, step = (e(e.emit.constant(np.array(number, np.int64))) for number in (0, 1))
    return first.apply(onnx.RangeOp, last, step).cast(i32)


def dropout(op: IdentityDropoutOp, e: Builder) -> Sequence[Value]:
    """Return src; NaN if a dynamic probability is not 0."""
    src = e(op.src)
    sizes = e(e.emit.sizes(op.src, range(len(shape_of(op.src)))))
    mask = e(e.emit.constant(np.array(1, np.uint8))).apply(onnx.ExpandOp, sizes)
    assert mask.dtype == UI8
    known = constant_value(op.probability)
    if known is None:
        given = e(op.probability).apply(onnx.ReshapeOp, e.ints([]))
        return [given.equals(0).where(src, float("nan")), mask]
    if float(known.reshape(())) != 0:
        raise nonzero_probability(op, float(known.reshape(())))
    return [src, mask]


CONVERSIONS: Mapping[str, Callable[..., Sequence[Value]]] = MappingProxyType(
    {
        "Concat": concat,
        "Dropout": dropout,
        "GenIndex": indices,
        "StaticReshape": reshape,
        "StaticTranspose": transpose,
        "TypeCast": cast,
    }
)
