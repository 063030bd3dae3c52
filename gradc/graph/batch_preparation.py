"""Simplifications before a batch is changed, so that its sizes can be followed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from math import prod

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerType, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxConstant, OnnxOp
from dialects.onnx.values import constant_of
from dialects.support.diagnostics import GradcError
from dialects.support.interfaces import refine_results
from dialects.support.op_cache_key import MOST_SIZES
from dialects.support.shapes import element_type_of, has_rank, shape_of, static_shape
from gradc.graph.batch_repairs import attribute_of
from passes.autodiff.control_flow.loop_shapes import normalize_loops
from passes.builder.op_builder import OpBuilder
from passes.infer_types import infer_types
from passes.simplify.folding import fold_chains


def prepare_batch(module: ModuleOp) -> None:
    """Fold ops on constants, replace gathers of all elements by Reshapes, and infer the ranks of loop-carried
    values."""
    blocks = [block for op in module.walk() for region in op.regions for block in region.blocks]
    for block in blocks:
        fold_chains(block)
    for op in list(module.walk()):
        if isinstance(op, onnx.GatherOp) and _gathers_all(op):
            _to_reshape(op)
    normalize_loops(module)
    infer_types(module)


Folded = tuple[SSAValue, onnx.ConstantOp]
"""A value, and the constant in its place."""


def fold_sizes(op: Operation) -> Sequence[Folded]:
    """Replace the results of an op by constants if they are few integers that follow from known sizes."""
    if not isinstance(op, OnnxOp) or isinstance(op, OnnxConstant) or op.regions:
        return []
    with suppress(GradcError):
        refine_results(op)
    if not all(map(_are_few, op.results)):
        return []
    folded = [value for value in op.fold() or () if isinstance(value, DenseIntOrFPElementsAttr)]
    block = op.parent_block()
    if block is None or [value.type for value in folded] != [result.type for result in op.results]:
        return []
    found = [(result, onnx.ConstantOp(value)) for result, value in zip(op.results, folded, strict=True)]
    for result, constant in found:
        block.insert_op_before(constant, op)
        result.replace_all_uses_with(constant.output)
    return found


def unfold_sizes(folded: Sequence[Folded]) -> None:
    """Put back the values that `fold_sizes` replaced."""
    for result, constant in folded:
        constant.output.replace_all_uses_with(result)
        Rewriter.erase_op(constant)


def _are_few(value: SSAValue) -> bool:
    shape = static_shape(value) if has_rank(value) else None
    is_integer = shape is not None and isinstance(element_type_of(value), IntegerType)
    return is_integer and prod(shape or ()) <= MOST_SIZES


def _gathers_all(op: onnx.GatherOp) -> bool:
    """Return whether a Gather takes all elements of a vector in order, as exporters write `as_strided`."""
    indices = constant_of(op.operands[1])
    if indices is None or not has_rank(op.operands[0]) or attribute_of(op, "axis", 0) not in (0, -1):
        return False
    size = shape_of(op.operands[0])
    return size == (indices.size,) and np.array_equal(indices.ravel(), np.arange(indices.size))


def _to_reshape(op: onnx.GatherOp) -> None:
    emit = OpBuilder()
    indices = constant_of(op.operands[1])
    assert indices is not None
    value: SSAValue = emit(onnx.ReshapeOp(op.operands[0], emit.ints(indices.shape)))
    for new in emit.ops:
        new.location = op.location
    Rewriter.replace_op(op, emit.ops, [value])
