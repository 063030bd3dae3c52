"""Dilated pools as convolutions, before opset 19 for AveragePool and 18 for LpPool."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.attributes import python_values
from dialects.onnx.base import OnnxOp
from dialects.onnx.opset_range import nondefault_attributes
from dialects.support.dtypes import FLOATS, of_mlir
from dialects.support.shapes import element_type_of, has_rank, shape_of, static
from passes.autodiff.common.primal import Primal
from passes.builder.op_builder import OpBuilder
from passes.builder.values import Builder
from passes.decompositions.missing_kernels.explicit_pads import explicit_pads
from passes.decompositions.portable import pools
from passes.decompositions.portable.pools import counts_beyond_the_pads
from passes.decompositions.registry import Results

Attributes = dict[str, Any]


def average_pool(f: Primal, e: Builder) -> Results | None:
    op, emit = f.op_as(onnx.AveragePoolOp), e.emit
    given: Attributes | None = {**python_values(nondefault_attributes(op))}
    if "dilations" not in given:
        return [emit(onnx.AveragePoolOp(op.X, **given))]
    if counts_beyond_the_pads(op):
        return pools.average_pool(f, e)
    given = _with_whole_windows(op, given)
    sums = None if given is None else _window_sums(emit, op.X, given)
    if given is None or sums is None:
        return None
    if given.get("count_include_pad", 0) or not any(given.get("pads", [])):
        count = emit.constant(np.array(np.prod(given["kernel_shape"]), _numpy(op.X)))
        return [emit(onnx.DivOp(sums, count))]
    like = emit(onnx.ExpandOp(emit.constant(np.ones((), _numpy(op.X))), emit(onnx.ShapeOp(op.X))))
    counts = _window_sums(emit, like, given)
    assert counts is not None
    return [emit(onnx.DivOp(sums, counts))]


def lp_pool(f: Primal, e: Builder) -> Results | None:
    op, emit = f.op_as(onnx.LpPoolOp), e.emit
    given: Attributes | None = {**python_values(nondefault_attributes(op))}
    if "dilations" not in given and "ceil_mode" not in given:
        return [emit(onnx.LpPoolOp(op.X, **given))]
    given = _with_whole_windows(op, given)
    if given is None:
        return None
    p = given.get("p", 2)
    magnitudes = emit(onnx.AbsOp(op.X))
    power, root = (emit.constant(np.array(number, _numpy(op.X))) for number in (p, 1 / p))
    sums = _window_sums(emit, emit(onnx.PowOp(magnitudes, power)), given)
    return None if sums is None else [emit(onnx.PowOp(sums, root))]


def _numpy(value: SSAValue) -> np.dtype:
    dtype = of_mlir(element_type_of(value))
    assert dtype is not None
    return dtype.numpy


def _with_whole_windows(op: OnnxOp, given: Attributes) -> Attributes | None:
    """Return the attributes without `auto_pad` and `ceil_mode`, which a dilated convolution does not have:
    explicit pads end with the last window. None if they depend on dynamic sizes."""
    if not has_rank(op.operands[0]):
        return None
    plain = {**given, **(explicit_pads(op) or {})}
    if "pads" in plain:
        plain.pop("auto_pad", None)
    if plain.get("auto_pad", "NOTSET") != "NOTSET":
        return None
    if not plain.pop("ceil_mode", 0):
        return plain
    sizes, counts = (static(shape_of(value)[2:]) for value in (op.operands[0], op.results[0]))
    if "auto_pad" in given or sizes is None or counts is None or not all((*sizes, *counts)):
        return None
    rank = len(sizes)
    begins = plain.get("pads", [0] * rank)[:rank]
    strides, dilations = (plain.get(name, [1] * rank) for name in ("strides", "dilations"))
    ends: list[int] = []
    for i, kernel in enumerate(plain["kernel_shape"]):
        reach = (counts[i] - 1) * strides[i] + (kernel - 1) * dilations[i] + 1
        ends.append(reach - sizes[i] - begins[i])
        if ends[i] <= -strides[i]:
            return None
    return {**plain, "pads": [*begins, *(max(0, end) for end in ends)]}


def _window_sums(emit: OpBuilder, data: SSAValue, given: Attributes) -> SSAValue | None:
    """Return the sum over each window, by a convolution of each channel as an image."""
    dtype = of_mlir(element_type_of(data))
    if dtype is None or dtype.name not in FLOATS or not has_rank(data):
        return None
    kernel = given["kernel_shape"]
    spatial = range(2, 2 + len(kernel))
    weights = emit.constant(np.ones((1, 1, *kernel), dtype.numpy))
    apart = emit.concat([emit.ints([-1, 1]), emit.sizes(data, spatial)])
    names = ("dilations", "kernel_shape", "pads", "strides")
    window = {name: given[name] for name in names if name in given}
    images = emit(onnx.ConvOp(emit(onnx.ReshapeOp(data, apart)), weights, **window))
    whole = emit.concat([emit.sizes(data, (0, 1)), emit.sizes(images, spatial)])
    return emit(onnx.ReshapeOp(images, whole))
