"""Pools in variants that all runtimes compute like onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import mul
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.infer.spatial import Window, window
from dialects.support.dtypes import of_mlir
from dialects.support.shapes import element_type_of, shape_of, static
from passes.autodiff.common.primal import Primal
from passes.builder.op_builder import OpBuilder
from passes.builder.values import Builder
from passes.decompositions.registry import Results


def counts_beyond_the_pads(op: OnnxOp) -> bool:
    """Return whether AveragePool windows may exceed the padding that its divisor counts."""
    given = op.call().attribute
    has_pads = given("auto_pad", "NOTSET") == "NOTSET"
    return has_pads and bool(given("ceil_mode", 0)) and bool(given("count_include_pad", 0))


def is_average_of_known(op: OnnxOp) -> bool:
    return counts_beyond_the_pads(op) and _spatial(op) is not None


def average_pool(f: Primal, e: Builder) -> Results | None:
    """Zero-pad up to the last window, average whole windows, and correct the divisor by a constant."""
    op, emit = f.op, e.emit
    sizes = _spatial(op)
    dtype = of_mlir(element_type_of(op.operands[0]))
    if sizes is None or dtype is None:
        return None
    call = op.call()
    view = window(call, call.attribute("kernel_shape"))
    ends: list[int] = []
    factors: list[np.ndarray] = []
    for i, (size, count) in enumerate(zip(*sizes, strict=True)):
        extent, stride = view.extent(i) or 1, view.strides[i]
        ends.append(max((count - 1) * stride + extent - size - view.begin[i], 0))
        factors.append(_factors(view, i, size, count))
    pads = [0, 0, *view.begin, 0, 0, *ends]
    data = emit(onnx.PadOp(op.operands[0], emit.ints(pads))) if any(pads) else op.operands[0]
    attributes: dict[str, Any] = {**call.attributes, "ceil_mode": 0, "pads": [0] * (2 * view.rank)}
    mean = emit(onnx.AveragePoolOp(data, **attributes))
    factor = reduce(np.multiply.outer, factors)
    if (factor == 1).all():
        return [mean]
    return [emit(onnx.MulOp(mean, emit.constant(factor[None, None].astype(dtype.numpy))))]


def _factors(view: Window, i: int, size: int, count: int) -> np.ndarray:
    """Return, for each window along an axis, its size over the number of counted elements."""
    kernel = view.kernel[i]
    assert isinstance(kernel, int)
    taps = np.arange(count)[:, None] * view.strides[i] + np.arange(kernel) * view.dilations[i]
    return kernel / (taps < size + view.pads(i)).sum(axis=1)


def rounds_up(op: OnnxOp) -> bool:
    """Return whether LpPool windows may exceed the pads."""
    given = op.call().attribute
    return given("auto_pad", "NOTSET") == "NOTSET" and bool(given("ceil_mode", 0))


def is_norm_of_known(op: OnnxOp) -> bool:
    return rounds_up(op) and _ends_of_last_windows(op) is not None


def lp_pool(f: Primal, e: Builder) -> Results | None:
    """Pad up to the end of the last window: zeros add nothing to a norm."""
    op, ends = f.op_as(onnx.LpPoolOp), _ends_of_last_windows(f.op)
    if ends is None:
        return None
    emit, call = e.emit, op.call()
    view = window(call, call.attribute("kernel_shape"))
    attributes: dict[str, Any] = {**call.attributes, "ceil_mode": 0, "pads": [*view.begin, *ends]}
    data: SSAValue = op.X
    if any(pad >= size for pad, size in zip(ends, call.attribute("kernel_shape"), strict=True)):
        data = emit(onnx.PadOp(data, emit.ints([0, 0, *view.begin, 0, 0, *ends])))
        attributes["pads"] = [0] * (2 * view.rank)
    return [emit(onnx.LpPoolOp(data, **attributes))]


def _ends_of_last_windows(op: OnnxOp) -> list[int] | None:
    """Return end pads that hold the last window of each axis; None for dynamic sizes whose last window may
    start in the pads, where it is left out."""
    call, sizes = op.call(), _spatial(op)
    view = window(call, call.attribute("kernel_shape"))
    extents = [view.extent(i) or 1 for i in range(view.rank)]
    if sizes is not None:
        rows = zip(*sizes, extents, view.strides, view.begin, strict=True)
        return [max((count - 1) * s + extent - size - begin, 0) for size, count, extent, s, begin in rows]
    ends = [end + stride - 1 for end, stride in zip(view.end, view.strides, strict=True)]
    return ends if all(end < extent for end, extent in zip(ends, extents, strict=True)) else None


def has_turned_indices(op: OnnxOp) -> bool:
    """Return whether a MaxPool counts its indices in column-major order."""
    return bool(op.call().attribute("storage_order", 0)) and len(op.call().attribute("kernel_shape")) > 1


def is_max_of_known(op: OnnxOp) -> bool:
    """Return whether the indices are unused, or are of an image of static size."""
    assert isinstance(op, onnx.MaxPoolOp)
    if not has_turned_indices(op):
        return False
    return op.Indices.first_use is None or (
        len(shape_of(op.X)) == 4 and static(shape_of(op.X)[2:]) is not None
    )


def max_pool(f: Primal, e: Builder) -> Results | None:
    """Count the indices in row-major order, and convert them: h W + w to h + w H."""
    op, emit = f.op_as(onnx.MaxPoolOp), e.emit
    attributes: dict[str, Any] = {**op.call().attributes, "storage_order": 0}
    pooled, indices = emit.all(onnx.MaxPoolOp(op.X, **attributes))
    if op.Indices.first_use is None:
        return [pooled, indices]
    sizes = static(shape_of(op.X)[2:])
    if sizes is None:
        return None
    rows, columns = sizes
    within = _rest(emit, indices, rows * columns)
    begins = emit(onnx.SubOp(indices, within))
    column = _rest(emit, within, columns)
    row = emit(onnx.DivOp(emit(onnx.SubOp(within, column)), _number(emit, columns)))
    turned = emit(onnx.AddOp(row, emit(onnx.MulOp(column, _number(emit, rows)))))
    return [pooled, emit(onnx.AddOp(begins, turned))]


def _rest(emit: OpBuilder, value: SSAValue, divisor: int) -> SSAValue:
    return emit(onnx.ModOp(value, _number(emit, divisor)))


def _number(emit: OpBuilder, value: int) -> SSAValue:
    return emit.constant(np.array(value, np.int64))


def _spatial(op: OnnxOp) -> tuple[Sequence[int], Sequence[int]] | None:
    """Return the spatial sizes of the data and of the result; None if dynamic or empty."""
    sizes, counts = (static(shape_of(value)[2:]) for value in (op.operands[0], op.results[0]))
    if sizes is None or counts is None or reduce(mul, (*sizes, *counts), 1) == 0:
        return None
    return sizes, counts
