"""Ops that onnxruntime fuses with their neighbours, which a Transpose in between would prevent."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TypeGuard

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx import traits
from dialects.onnx.base import OnnxOp
from dialects.support.constants import constant_value
from dialects.support.shapes import has_rank, shape_of

PRODUCTS = (onnx.ConvOp, onnx.ConvTransposeOp, onnx.GemmOp, onnx.MatMulOp)
"""Ops whose kernels accept a bias, a factor, or an activation."""

NORMALIZATIONS = (onnx.LayerNormalizationOp, onnx.RMSNormalizationOp)


def fused_ops(function: FuncOp) -> set[Operation]:
    """Return the elementwise ops and reductions of a function that onnxruntime fuses."""
    found: set[Operation] = set()
    for op in function.body.block.ops:
        if _follows_product(op) or _precedes_normalization(op):
            found.add(op)
        if isinstance(op, onnx.DivOp | onnx.ReciprocalOp):
            found.update(_normalization(op))
    return found


def _follows_product(op: Operation) -> bool:
    """Return whether an op is the only reader of a product, with constants as its other operands."""
    data = [value for value in op.operands if constant_value(value) is None]
    is_elementwise = isinstance(op, OnnxOp) and op.onnx_name() in traits.FUNCTIONS | traits.BROADCASTING
    return is_elementwise and len(data) == 1 and isinstance(data[0].owner, PRODUCTS) and data[0].has_one_use()


def _precedes_normalization(op: Operation) -> bool:
    """Return whether an op is a sum that is normalized."""
    return isinstance(op, onnx.AddOp) and any(isinstance(use.operation, NORMALIZATIONS) for use in op.C.uses)


def _normalization(op: onnx.DivOp | onnx.ReciprocalOp) -> Iterator[Operation]:
    """Yield the ops of a decomposed LayerNormalization or RMSNormalization over the last axis, given its
    division; none for any other division."""
    roots = list[Operation]()
    inner = op.operands[-1].owner
    while isinstance(inner, onnx.AddOp | onnx.SqrtOp):
        roots.append(inner)
        inner = _data(inner).owner
    if not any(isinstance(root, onnx.SqrtOp) for root in roots) or not _is_last_mean(inner):
        return
    square = inner.operands[0].owner
    if not isinstance(square, onnx.PowOp | onnx.MulOp):
        return
    yield from (op, *roots, inner, square)
    centred = square.operands[0].owner
    if isinstance(centred, onnx.SubOp) and _is_last_mean(mean := centred.B.owner):
        yield from (centred, mean)
    quotient: Operation | None = op
    if isinstance(op, onnx.ReciprocalOp) or constant_value(op.A) is not None:
        quotient = op.results[0].get_user_of_unique_use()
    if isinstance(quotient, onnx.DivOp | onnx.MulOp):
        yield quotient
        yield from _scale_and_shift(quotient)


def _scale_and_shift(op: Operation) -> Iterator[Operation]:
    """Yield the multiplication by a constant after an op, and the addition of one after that."""
    for kind in (onnx.MulOp, onnx.AddOp):
        reader = op.results[0].get_user_of_unique_use()
        if not isinstance(reader, kind) or all(constant_value(value) is None for value in reader.operands):
            return
        yield reader
        op = reader


def _data(op: Operation) -> SSAValue:
    """Return the first operand that is not constant, or the first."""
    return next((value for value in op.operands if constant_value(value) is None), op.operands[0])


def _is_last_mean(op: object) -> TypeGuard[onnx.ReduceMeanOp]:
    if not isinstance(op, onnx.ReduceMeanOp) or not has_rank(op.data) or op.axes is None:
        return False
    axes, rank = constant_value(op.axes), len(shape_of(op.data))
    return axes is not None and [int(axis) % rank for axis in axes] == [rank - 1]


def folded_ops(convolutions: Collection[Operation]) -> set[Operation]:
    """Return the ops that are fused into convolutions with constant weights: factors, offsets, a Clip after
    these, and a Pad in front."""
    found: set[Operation] = set()
    for op in convolutions:
        if not isinstance(op, onnx.ConvOp):
            continue
        reader = op.Y.get_user_of_unique_use()
        while reader is not None and reader.parent is op.parent and _is_folded(reader, op):
            found.add(reader)
            reader = reader.results[0].get_user_of_unique_use()
        if isinstance(reader, onnx.ClipOp) and _is_bounded(reader):
            found.add(reader)
        if isinstance(op.X.owner, onnx.PadOp) and _is_pad_of_zeros(op.X.owner) and op.X.has_one_use():
            found.add(op.X.owner)
    return found


def _is_folded(op: Operation, convolution: onnx.ConvOp) -> bool:
    """Return whether an op applies a per-channel factor or offset, its second operand, after a Conv."""
    constants = [constant_value(value) for value in op.operands[1:]]
    if isinstance(op, onnx.BatchNormalizationOp):
        is_read = any(result.first_use is not None for result in op.results[1:])
        trains = bool(op.onnx_attributes().get("training_mode", 0))
        return all(array is not None for array in constants) and not is_read and not trains
    if not isinstance(op, onnx.AddOp | onnx.MulOp) or constants[0] is None:
        return False
    shape = constants[0].shape
    channels = shape_of(convolution.Y)[1]
    rank = len(shape_of(convolution.Y))
    is_number = shape == () and isinstance(op, onnx.MulOp)
    return is_number or shape in ((channels, *[1] * (rank - 2)), (1, channels, *[1] * (rank - 2)))


def _is_bounded(op: onnx.ClipOp) -> bool:
    """Return whether both bounds of a Clip are constants."""
    return all(value is not None and constant_value(value) is not None for value in (op.min, op.max))


def _is_pad_of_zeros(op: onnx.PadOp) -> bool:
    """Return whether a Pad only zero-pads the spatial axes."""
    pads = constant_value(op.pads)
    value = None if op.constant_value is None else constant_value(op.constant_value)
    is_zero = op.constant_value is None or (value is not None and not value.any())
    is_plain = op.axes is None and op.onnx_attributes().get("mode", "constant") == "constant"
    if pads is None or not is_zero or not is_plain or (pads < 0).any():
        return False
    return not pads.reshape(2, -1)[:, :2].any()
