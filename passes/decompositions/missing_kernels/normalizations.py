"""Accurate decompositions of normalizations.

ONNX's function bodies compute the variance as E[x^2] - E[x]^2, which in f32 has no correct digit for data of
mean 1000 and deviation 1. Kernels, and the decompositions here, use the mean of squared differences.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f32, f64
from xdsl.dialects.func import ReturnOp
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.support.shapes import element_type_of, has_rank, shape_of
from passes.autodiff.common.primal import Primal
from passes.builder.values import Builder, Value
from passes.decompositions.registry import Results


def layer_normalization(f: Primal, e: Builder) -> Results | None:
    """Decompose by the formula of the op's documentation, like all functions here."""
    op = f.op_as(onnx.LayerNormalizationOp)
    axes = _last_axes(op, op.X)
    if axes is None:
        return None
    x, mean, variance = _center(_wide(e, op.X), axes)
    deviation = (variance + op.call().attribute("epsilon", 1e-5)).sqrt()
    scaled = (x / deviation).cast(element_type_of(op.X)) * e(op.Scale)
    shifted = scaled if op.B is None else scaled + e(op.B)
    statistics = (mean, deviation.apply(onnx.ReciprocalOp))
    return [shifted.value, *(each.cast(element_type_of(op.Mean)).value for each in statistics)]


def rms_normalization(f: Primal, e: Builder) -> Results | None:
    op = f.op_as(onnx.RMSNormalizationOp)
    axes = _last_axes(op, op.X)
    if axes is None:
        return None
    x = _wide(e, op.X)
    deviation = (_mean(x.square(), axes) + op.call().attribute("epsilon", 1e-5)).sqrt()
    return [((x / deviation).cast(element_type_of(op.scale)) * e(op.scale)).value]


def mean_variance_normalization(f: Primal, e: Builder) -> Results:
    """Omits the 1e-9 of ONNX's function body, like onnxruntime's kernel."""
    op = f.op_as(onnx.MeanVarianceNormalizationOp)
    data = _wide(e, op.X)
    x, _, variance = _center(data, op.call().attribute("axes", [0, 2, 3]))
    return [(x / variance.sqrt()).cast(element_type_of(op.X)).value]


def group_normalization(f: Primal, e: Builder) -> Results | None:
    """Normalize each group of a sample's channels as a row."""
    op, emit = f.op_as(onnx.GroupNormalizationOp), e.emit
    if not has_rank(op.X):
        return None
    call, rank = op.call(), len(shape_of(op.X))
    groups = emit.ints([call.attribute("num_groups")])
    sizes = [emit.sizes(op.X, [axis]) for axis in range(rank)]
    length = emit.product([emit.div(sizes[1], groups), *sizes[2:]])
    rows = _wide(e, op.X).apply(onnx.ReshapeOp, e(emit.concat([sizes[0], groups, length])))
    x, _, variance = _center(rows, [2])
    normal = (x / (variance + call.attribute("epsilon", 1e-5)).sqrt()).cast(element_type_of(op.X))
    whole = normal.apply(onnx.ReshapeOp, e(emit.concat(sizes))).assume_shape(shape_of(op.X))
    scale, bias = (_per_channel(e(vector), rank) for vector in (op.scale, op.bias))
    return [(whole * scale + bias).value]


def may_overwrite(op: OnnxOp) -> bool:
    """Return whether a training BatchNormalization has a running statistic that is not a graph result:
    the quirk batch-normalization-in-place."""
    assert isinstance(op, onnx.BatchNormalizationOp)
    if not op.call().attribute("training_mode", 0):
        return False
    running = (op.running_mean, op.running_var)
    return not all(any(isinstance(use.operation, ReturnOp) for use in value.uses) for value in running)


def batch_normalization(f: Primal, e: Builder) -> Results | None:
    """Decompose the training mode."""
    op = f.op_as(onnx.BatchNormalizationOp)
    call = op.call()
    if not call.attribute("training_mode", 0) or not has_rank(op.X):
        return None
    rank = len(shape_of(op.X))
    axes = [axis for axis in range(rank) if axis != 1]
    x, mean, variance = _center(_wide(e, op.X), axes)
    r = (variance + call.attribute("epsilon", 1e-5)).sqrt().apply(onnx.ReciprocalOp)
    scale, bias = (_per_channel(e(vector).cast(x.dtype), rank) for vector in (op.scale, op.B))
    momentum = call.attribute("momentum", 0.9)
    running: list[SSAValue] = []
    for given, new in ((op.input_mean, mean), (op.input_var, variance)):
        old = e(given).cast(x.dtype)
        mixed = old * momentum + new.squeeze(axes) * (1 - momentum)
        running.append(mixed.cast(element_type_of(given)).value)
    return [(x * (r * scale) + bias).cast(element_type_of(op.X)).value, *running]


def _last_axes(op: OnnxOp, data: SSAValue) -> range | None:
    """Return the axes from `axis` on; None if that needs an unknown rank."""
    axis = op.call().attribute("axis", -1)
    if axis < 0:
        return range(axis, 0)
    return range(axis, len(shape_of(data))) if has_rank(data) else None


def _wide(e: Builder, value: SSAValue) -> Value:
    """Cast to the type of the statistics: f64 for f64, else f32."""
    return e(value).cast(f64 if element_type_of(value) == f64 else f32)


def _center(x: Value, axes: Sequence[int]) -> tuple[Value, Value, Value]:
    """Return the centered data, the mean, and the variance."""
    mean = _mean(x, axes)
    centred = x - mean
    return centred, mean, _mean(centred.square(), axes)


def _mean(x: Value, axes: Sequence[int]) -> Value:
    return x.apply(onnx.ReduceMeanOp, x.e.ints(axes), keepdims=1)


def _per_channel(vector: Value, rank: int) -> Value:
    return vector.unsqueeze(range(1, rank - 1)) if rank > 2 else vector
