"""qdq-to-float: rewrite integer ops on quantized codes to float ops, so that straight-through gradients pass.

QLinearConv, QLinearMatMul, MatMulInteger and ConvInteger compute on dequantized operands. A DequantizeLinear
after moved or max-pooled codes is hoisted above the move, next to the quantizing op.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, UnrankedTensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import Rewriter

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.values import constant_of
from dialects.support.shapes import UnknownRank, element_type_of, has_rank, shape_of
from passes.autodiff.common.slice_adjoint import size_of, vector
from passes.builder.op_builder import OpBuilder
from passes.builder.rewriting import replace, rewrite
from passes.builder.values import Builder, Value
from passes.decompositions.contrib import quantized
from passes.decompositions.registry import Reason, decompose, decomposition_of

_MOVES = (
    "DepthToSpace", "Expand", "Flatten", "Gather", "GatherElements", "GatherND", "Identity", "MaxPool",
    "ReduceMax", "ReduceMin", "Reshape", "ReverseSequence", "Slice", "SpaceToDepth", "Split", "Squeeze",
    "Tile", "Transpose", "Unsqueeze",
)  # fmt: skip

_CODES: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        **dict.fromkeys(_MOVES, (0,)),
        "Pad": (0, 2),
        "ScatterElements": (0, 2),
        "ScatterND": (0, 2),
        "Where": (1, 2),
    }
)
"""Op that moves codes or selects between them -> indices of its code operands; of Concat all are."""


_SELECTION_OPS = (onnx.ClipOp, onnx.MaxOp, onnx.MaxPoolOp, onnx.MinOp, onnx.ReduceMaxOp, onnx.ReduceMinOp)
"""Ops that select by size: codes are ordered like floats if their scale is positive."""


@dataclass(frozen=True)
class QdqToFloatPass(ModulePass):
    name = "qdq-to-float"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        compute_with_floats(op)


def compute_with_floats(module: ModuleOp) -> None:
    """Rewrite in place; values with other readers, and results of the function, stay."""
    rewrite(module, [QLinearOpsAsFloats()], (onnx.QLinearConvOp, onnx.QLinearMatMulOp))
    rewrite(module, [ProductsOfFloats()], (onnx.CastOp,))
    before = HoistDequantize()
    rewrite(module, [before], (onnx.DequantizeLinearOp,))
    for move in before.moved:
        if move.parent is not None and not any(result.first_use for result in move.results):
            Rewriter.erase_op(move)


class QLinearOpsAsFloats(RewritePattern):
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, OnnxOp)
        found, emit = decomposition_of(op.onnx_name(), Reason.STRAIGHT_THROUGH), OpBuilder()
        values = None if found is None else decompose(found.body, op, emit)
        if values is not None:  # else the op stays, and blocks gradients
            replace(op, rewriter, emit, values)


class ProductsOfFloats(RewritePattern):
    """Rewrites integer products that are cast to floats: sums of 8-bit products are exact."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, onnx.CastOp)
        product = op.input.owner
        if not isinstance(product, onnx.MatMulIntegerOp | onnx.ConvIntegerOp):
            return
        e, dtype = Builder(), element_type_of(op.output)
        inputs = [None if value is None else e(value) for value in (*product.onnx_inputs(), None, None)][:4]
        try:
            x, w = (
                _subtract_zero_point(inputs[i], inputs[i + 2], i, isinstance(product, onnx.ConvIntegerOp))
                for i in (0, 1)
            )
        except UnknownRank:
            e.emit.discard()
            return
        kind = onnx.MatMulOp if isinstance(product, onnx.MatMulIntegerOp) else onnx.ConvOp
        y = x.apply(kind, w, **product.onnx_attributes())
        replace(op, rewriter, e.emit, [y.cast(dtype).value])


def _subtract_zero_point(codes: Value | None, zero: Value | None, index: int, is_conv: bool) -> Value:
    """Subtract zero points: per row or column for MatMul, per filter for Conv."""
    assert codes is not None
    e = codes.e
    one = e(e.emit.constant(np.array(1, np.float32)))
    axis = 0 if is_conv else max(codes.rank - (1 if index else 2), 0)
    if zero is not None and zero.rank and zero.shape != (1,):
        one = one.apply(onnx.ExpandOp, vector(zero, [size_of(zero, 0)]))
    return quantized.dequantize(codes, one, zero, axis)


@dataclass
class HoistDequantize(RewritePattern):
    moved: list[Operation] = field(default_factory=list[Operation])
    """Moves of codes, from last to first, that may be dead after the rewrite."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, onnx.DequantizeLinearOp)
        move = op.x.owner
        if not isinstance(move, OnnxOp) or move.parent_block() is not op.parent_block():
            return
        index = next(i for i, result in enumerate(move.results) if result is op.x)
        places = _codes_of(move)
        if not places or not has_rank(op.x_scale) or shape_of(op.x_scale) not in ((), (1,)):
            return
        if isinstance(move, _SELECTION_OPS) and not _is_positive(op.x_scale):
            return
        e, codes, operands = Builder(), element_type_of(op.x), list[SSAValue](move.operands)
        for place in places:
            operands[place] = e.emit(onnx.DequantizeLinearOp(operands[place], op.x_scale, op.x_zero_point))
        new = type(move).create(
            operands=operands,
            result_types=[_with_floats(old.type, codes, op.y) for old in move.results],
            properties=move.properties,
        )
        e.emit(new)
        y: SSAValue = new.results[index]
        if isinstance(move, onnx.ResizeOp) and move.onnx_attributes().get("mode", "nearest") != "nearest":
            rounded = e.emit(onnx.QuantizeLinearOp(y, op.x_scale, op.x_zero_point))
            y = e.emit(onnx.DequantizeLinearOp(rounded, op.x_scale, op.x_zero_point))
        self.moved.append(move)
        replace(op, rewriter, e.emit, [y])


def _codes_of(move: OnnxOp) -> Sequence[int]:
    """Return the code operands of an op that only moves codes, else none."""
    name, attributes = move.onnx_name(), move.onnx_attributes()
    if name == "Concat":
        return range(len(move.operands))
    if isinstance(move, onnx.PadOp):
        is_filled = attributes.get("mode", "constant") == "constant"
        return () if is_filled and move.constant_value is None else (0, 2) if is_filled else (0,)
    if attributes.get("reduction", "none") != "none":
        return ()
    if isinstance(move, onnx.ResizeOp):
        return () if attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize" else (0,)
    if isinstance(move, onnx.MaxOp | onnx.MinOp | onnx.ClipOp):
        return range(len(move.operands))
    return _CODES.get(name, ())


def _is_positive(scale: SSAValue) -> bool:
    known = constant_of(scale)
    return known is not None and bool((known > 0).all())


def _with_floats(type_: Attribute, codes: Attribute, like: SSAValue) -> Attribute:
    dtype = element_type_of(like)
    match type_:
        case TensorType(element_type=element) if element == codes:
            return TensorType(dtype, type_.shape, type_.encoding)
        case UnrankedTensorType(element_type=element) if element == codes:
            return UnrankedTensorType(dtype)
        case _:
            return type_
