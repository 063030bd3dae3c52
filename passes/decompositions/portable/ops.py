"""Equivalents of single ops that all runtimes of `portable` compute alike."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.call import axes_of, axis_of
from dialects.onnx.dims import ints, is_at_least
from dialects.onnx.values import constant_of
from dialects.support.dtypes import FLOATS, name_of, of_mlir
from dialects.support.shapes import element_type_of, has_rank, shape_of
from passes.autodiff.common.primal import Primal
from passes.builder.values import Builder
from passes.decompositions.registry import Results


def reads_mask(op: OnnxOp) -> bool:
    """Return whether the mask of an inactive Dropout is used."""
    assert isinstance(op, onnx.DropoutOp)
    training = None if op.training_mode is None else constant_of(op.training_mode)
    is_plain = op.training_mode is None or (training is not None and not training.any())
    return op.mask.first_use is not None and is_plain


def without_dropout(f: Primal, e: Builder) -> Results:
    op, emit = f.op_as(onnx.DropoutOp), e.emit
    kept = emit(onnx.ExpandOp(emit.constant(np.array(True)), emit(onnx.ShapeOp(op.data))))
    return [op.data, kept]


def lacks_thresholds(op: OnnxOp) -> bool:
    assert isinstance(op, onnx.NonMaxSuppressionOp)
    return op.iou_threshold is None


def with_thresholds(f: Primal, e: Builder) -> Results:
    """Write the default `iou_threshold` 0 as the next number: OpenVINO drops boxes at equality."""
    op, emit = f.op_as(onnx.NonMaxSuppressionOp), e.emit
    most = op.max_output_boxes_per_class
    overlap = emit.constant(np.array([np.finfo(np.float32).tiny]))
    attributes: dict[str, Any] = {**op.call().attributes}
    operands = (op.boxes, op.scores, most, overlap, op.score_threshold)
    return [emit(onnx.NonMaxSuppressionOp(*operands, **attributes))]


def is_along_another_axis(op: OnnxOp) -> bool:
    """Return whether a DFT is not known to be along axis 1, or is one-sided."""
    return _axis(op) != 1 or _is_onesided(op)


def can_use_axis_1(op: OnnxOp) -> bool:
    """Return whether a DFT along another axis, but no one-sided inverse, has a known axis."""
    assert isinstance(op, onnx.DFTOp)
    known = has_rank(op.input) and len(shape_of(op.input)) > 2 and _axis(op) is not None
    return (
        is_along_another_axis(op) and known and not (_is_onesided(op) and op.call().attribute("inverse", 0))
    )


def dft_along_axis_1(f: Primal, e: Builder) -> Results | None:
    """Transpose the axis to 1, and crop a two-sided result to its first half if needed."""
    op, emit = f.op_as(onnx.DFTOp), e.emit
    axis, rank = _axis(op), len(shape_of(op.input))
    if axis is None:
        return None
    order = [*range(rank)]
    order[1], order[axis] = axis, 1
    data = op.input if axis == 1 else emit(onnx.TransposeOp(op.input, perm=order))
    first = emit.constant(np.array(1, np.int64))
    inverse = op.call().attribute("inverse", 0)
    value = emit(onnx.DFTOp(data, op.dft_length, first, inverse=inverse))
    if _is_onesided(op):
        size = emit.sizes(value, [1])
        half = emit.add(emit.floordiv(size, emit.ints([2])), emit.ints([1]))
        value = emit(onnx.SliceOp(value, emit.ints([0]), half, emit.ints([1])))
    return [value if axis == 1 else emit(onnx.TransposeOp(value, perm=order))]


def _is_onesided(op: OnnxOp) -> bool:
    return bool(op.call().attribute("onesided", 0))


def _axis(op: OnnxOp) -> int | None:
    assert isinstance(op, onnx.DFTOp)
    given = np.array(-2) if op.axis is None else constant_of(op.axis)
    if given is None or not has_rank(op.input):
        return None
    return axis_of(int(given.reshape(-1)[0]), len(shape_of(op.input)))


def reduces_empty_axis(op: OnnxOp) -> bool:
    """Return whether a float ReduceMax or ReduceMin is over an axis known to be empty."""
    assert isinstance(op, onnx.ReduceMaxOp | onnx.ReduceMinOp)
    call = op.call()
    given = call.optional(1)
    listed = [] if given is None else ints(given.dims)
    if listed is None or name_of(element_type_of(op.data)) not in FLOATS:
        return False
    shape = call.operand(0).shape
    if not listed and call.attribute("noop_with_empty_axes", 0):
        return False
    return any(shape[axis] == 0 for axis in (axes_of(listed, len(shape)) or range(len(shape))))


def may_reduce_nothing(op: OnnxOp) -> bool:
    """Return whether a ReduceMax or ReduceMin is over an axis that may be empty."""
    assert isinstance(op, onnx.ReduceMaxOp | onnx.ReduceMinOp)
    call = op.call()
    given = call.optional(1)
    listed = [] if given is None else ints(given.dims)
    if not has_rank(op.data) or listed is None:
        return True
    shape = shape_of(op.data)
    return not all(is_at_least(shape[axis], 1) for axis in axes_of(listed, len(shape)) or range(len(shape)))


def empty_extreme(f: Primal, e: Builder) -> Results:
    """Return -inf for ReduceMax, inf for ReduceMin, in the shape of the result."""
    op, emit = f.op, e.emit
    assert isinstance(op, onnx.ReduceMaxOp | onnx.ReduceMinOp)
    dtype = of_mlir(element_type_of(op.data))
    assert dtype is not None
    bound = np.array(-np.inf if isinstance(op, onnx.ReduceMaxOp) else np.inf, dtype.numpy)
    attributes: dict[str, Any] = {**op.call().attributes}
    shape = emit(onnx.ShapeOp(emit(onnx.ReduceSumOp(op.data, op.axes, **attributes))))
    return [emit(onnx.ExpandOp(emit.constant(bound), shape))]


def may_be_infinite(op: OnnxOp) -> bool:
    """Return whether the result of a float ReduceMax or ReduceMin is compared with an infinity."""
    assert isinstance(op, onnx.ReduceMaxOp | onnx.ReduceMinOp)
    if name_of(element_type_of(op.data)) not in FLOATS:
        return False
    readers = [use.operation for use in op.results[0].uses]
    others = [
        operand for reader in readers if isinstance(reader, onnx.EqualOp) for operand in reader.operands
    ]
    constants = [constant_of(operand) for operand in others]
    return any(array is not None and np.isinf(array.astype(np.float64)).any() for array in constants)


def infinite_extreme(f: Primal, e: Builder) -> Results:
    """Select the infinity where all reduced elements are it: -inf for ReduceMax, inf for ReduceMin."""
    op = f.op
    assert isinstance(op, onnx.ReduceMaxOp | onnx.ReduceMinOp)
    data = e(op.data)
    bound = -np.inf if isinstance(op, onnx.ReduceMaxOp) else np.inf
    attributes: dict[str, Any] = {**op.call().attributes}
    axes = [] if op.axes is None else [e(op.axes)]
    hits = data.equals(bound).cast(f32).apply(onnx.ReduceMinOp, *axes, **attributes)
    return [(hits > 0).where(e.scalar(bound, data), data.apply(type(op), *axes, **attributes))]


def repeats_variably(op: OnnxOp) -> bool:
    """Return whether a Tile repeats four axes or more by numbers that are no constant."""
    assert isinstance(op, onnx.TileOp)
    return has_rank(op.input) and len(shape_of(op.input)) > 3 and constant_of(op.repeats) is None


def tile_by_expand(f: Primal, e: Builder) -> Results:
    """Insert an axis of size 1 before each axis, expand it, and merge each pair of axes."""
    op, emit = f.op_as(onnx.TileOp), e.emit
    sizes = emit(onnx.ShapeOp(op.input))
    ones = emit.constant(np.ones(len(shape_of(op.input)), np.int64))

    def interleave(first: SSAValue, second: SSAValue) -> SSAValue:
        columns = [emit(onnx.UnsqueezeOp(each, emit.ints([1]))) for each in (first, second)]
        return emit(onnx.ReshapeOp(emit(onnx.ConcatOp(columns, axis=1)), emit.ints([-1])))

    apart = emit(onnx.ReshapeOp(op.input, interleave(ones, sizes), allowzero=1))
    wide = emit(onnx.ExpandOp(apart, interleave(op.repeats, sizes)))
    return [emit(onnx.ReshapeOp(wide, emit(onnx.MulOp(sizes, op.repeats)), allowzero=1))]


def is_scaled(op: OnnxOp) -> bool:
    """Return whether a Celu has an alpha other than 1."""
    return op.call().attribute("alpha", 1.0) != 1


def celu(f: Primal, e: Builder) -> Results:
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1)), computed in f32."""
    op, emit = f.op, e.emit
    given = op.operands[0]
    wide = given if element_type_of(given) == f32 else emit(onnx.CastOp(given, to=f32))
    zero, one = (emit.constant(np.array(number, np.float32)) for number in (0, 1))
    alpha = emit.constant(np.array(op.call().attribute("alpha", 1.0), np.float32))
    grown = emit(onnx.SubOp(emit(onnx.ExpOp(emit(onnx.DivOp(wide, alpha)))), one))
    below = emit(onnx.MinOp([emit(onnx.MulOp(alpha, grown)), zero]))
    found = emit(onnx.AddOp(emit(onnx.MaxOp([wide, zero])), below))
    return [found if wide is given else emit(onnx.CastOp(found, to=element_type_of(given)))]


def shifts_signed(op: OnnxOp) -> bool:
    return name_of(element_type_of(op.operands[0])).startswith("s")


def has_windows(op: OnnxOp) -> bool:
    """Return whether an Attention has a window, or is causal with a past."""
    assert isinstance(op, onnx.AttentionOp)
    given = op.call().attribute
    windows = (given("left_window_size", -1), given("right_window_size", -1))
    masks_past = given("is_causal", 0) and (op.past_key is not None or op.nonpad_kv_seqlen is not None)
    return windows != (-1, -1) or bool(masks_past)


def is_crd(op: OnnxOp) -> bool:
    return op.call().attribute("mode", "DCR") == "CRD"


def has_adaptive_samples(op: OnnxOp) -> bool:
    """Return whether the number of samples of a RoiAlign depends on the size of the region."""
    return op.call().attribute("sampling_ratio", 0) == 0


def takes_maxima(op: OnnxOp) -> bool:
    """Return whether the result of a RoiAlign is the maximum over samples, not the mean."""
    return op.call().attribute("mode", "avg") == "max"
