"""Resize of static sizes as a product with a constant matrix per axis, or a Gather for `nearest`."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.numpy.resizes import AxisResize, axes_to_resize, resize_matrix
from dialects.support.dtypes import FLOATS, HALVES, name_of, of_mlir
from dialects.support.limits import LimitError
from dialects.support.shapes import element_type_of, shape_of
from passes.autodiff.common.primal import Primal
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import contract
from passes.builder.values import Builder
from passes.decompositions.registry import Results

COORDINATES = ("align_corners", "asymmetric", "half_pixel", "pytorch_half_pixel", "tf_crop_and_resize")
"""Modes that OpenVINO has, except the last, which depends on a region."""


def needs_matrix(op: OnnxOp) -> bool:
    """Return whether a Resize has an attribute that OpenVINO ignores or computes differently."""
    given = op.call().attribute
    return (
        bool(given("antialias", 0))
        or bool(given("exclude_outside", 0) and given("mode", "nearest") == "cubic")
        or given("keep_aspect_ratio_policy", "stretch") != "stretch"
        or given("coordinate_transformation_mode", "half_pixel") not in COORDINATES
    )


def is_by_matrix(op: OnnxOp) -> bool:
    """Return whether the weights of such a Resize are static."""
    return needs_matrix(op) and _axes(op) is not None


def by_matrix(f: Primal, e: Builder) -> Results | None:
    """Return the resized data; axes that shrink come first. Half types are computed in f32."""
    op, emit = f.op, e.emit
    found = _axes(op)
    if found is None:
        return None
    value: SSAValue = op.operands[0]
    dtype = element_type_of(value)
    wide = name_of(dtype) in HALVES and op.call().attribute("mode", "nearest") != "nearest"
    value = emit(onnx.CastOp(value, to=f32)) if wide else value
    for axis, positions in sorted(found, key=lambda pair: pair[1].resized - pair[1].size):
        if not positions.is_identity:
            value = _resize_axis(emit, value, axis, positions)
    return [emit(onnx.CastOp(value, to=dtype)) if wide else value]


def _resize_axis(emit: OpBuilder, value: SSAValue, axis: int, positions: AxisResize) -> SSAValue:
    matrix = resize_matrix(positions)
    if positions.mode == "nearest":
        return emit(onnx.GatherOp(value, emit.ints(matrix.argmax(axis=1).tolist()), axis=axis))
    dtype = of_mlir(element_type_of(value))
    assert dtype is not None
    return contract(emit, value, axis, emit.constant(matrix.T.astype(dtype.numpy)))


def _axes(op: OnnxOp) -> list[tuple[int, AxisResize]] | None:
    call = op.call()
    dtype = name_of(element_type_of(op.operands[0]))
    if dtype not in FLOATS and call.attribute("mode", "nearest") != "nearest":
        return None
    if not all(isinstance(dim, int) and dim > 0 for dim in shape_of(op.operands[0])):
        return None
    crops = call.attribute("coordinate_transformation_mode") == "tf_crop_and_resize"
    if any(given is not None and given.value is None for given in call.operands[1 if crops else 2 :]):
        return None
    found = axes_to_resize(call)
    try:
        matrices = [resize_matrix(positions) for _, positions in found]
    except LimitError:
        return None
    is_whole = all(len(matrix) and np.abs(matrix).sum(axis=1).all() for matrix in matrices)
    return found if is_whole else None
