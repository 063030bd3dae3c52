"""Normalizations and their gradients in ONNX."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from dialects.onednn.batch_norm import InferenceOp, TrainingBackwardOp, TrainingOp
from dialects.onednn.norm import (
    GroupNormalizationOp,
    LayerNormalizationBackwardOp,
    LayerNormalizationOp,
    NormalizationOp,
    RMSNormalizationOp,
)
from dialects.onnx import ops as onnx
from dialects.support.shapes import element_type_of, shape_of
from passes.autodiff.common.primal import Primal
from passes.autodiff.rules import norm
from passes.builder.values import Builder, Value


def _parameter(op: NormalizationOp, port: str, e: Builder) -> Value | None:
    """Return a parameter in the dtype of the data, None if absent."""
    given = op.parameter(port)
    return None if given is None else e(given).cast(element_type_of(op.data))


def _parameter_of(op: NormalizationOp, port: str, e: Builder) -> Value:
    found = _parameter(op, port, e)
    assert found is not None
    return found


def _in_dtypes(op: NormalizationOp, results: Sequence[Value]) -> Sequence[Value]:
    rows = zip(results, op.results, strict=True)
    return [expression.cast(element_type_of(result)) for expression, result in rows]


def _given_or_ones(scale: Value | None, like: Value, axes: Sequence[int], e: Builder) -> Value:
    return _ones(like, axes, e) if scale is None else scale


def _ones(like: Value, axes: Sequence[int], e: Builder) -> Value:
    """Return ones in the shape of some axes of a tensor."""
    sizes = e(e.emit.sizes(like.value, axes))
    return e.scalar(1, like).apply(onnx.ExpandOp, sizes)


def _rank(op: NormalizationOp) -> int:
    return len(shape_of(op.data))


# Over the last axes


def layer_norm(op: LayerNormalizationOp, e: Builder) -> Sequence[Value]:
    """Lower a LayerNormalization; the variance is computed separately, as InvStdDev includes epsilon."""
    src, axis = e(op.src), op.first_axis()
    over = range(axis, _rank(op))
    axes = e.ints(over)
    gamma = _given_or_ones(_parameter(op, "gamma", e), src, over, e)
    beta = _parameter(op, "beta", e)
    shift = None if beta is None else beta.value
    given = onnx.LayerNormalizationOp(src.value, gamma.value, shift, axis=axis, epsilon=op.value("epsilon"))
    dst, mean, _ = map(e, e.emit.all(given))
    if src.dtype != mean.dtype:  # f64: the op's own statistics are f32
        mean = norm.mean_of(src, over)
    variance = norm.mean_of((src - mean).square(), over, keepdims=0)
    return _in_dtypes(op, [dst, mean.apply(onnx.SqueezeOp, axes), variance])


def layer_norm_backward(op: LayerNormalizationBackwardOp, e: Builder) -> Sequence[Value]:
    src, diff_dst, axis = e(op.src), e(op.diff_dst), op.first_axis()
    over = range(axis, _rank(op))
    mean, variance = (_parameter_of(op, port, e).unsqueeze(over) for port in ("mean", "variance"))
    results: list[Value | None] = [None, mean, norm.inverse_deviation(variance, op.value("epsilon"))]
    gamma = _parameter(op, "gamma", e)

    def gradients(scale: Value | None) -> Sequence[Value]:
        forward = Primal(e, (src, scale, scale), {"axis": axis}, results)
        found = norm.layer_normalization(forward, [diff_dst], e)
        return [gradient for gradient in found if isinstance(gradient, Value)]

    diff_src, *_ = gradients(gamma)
    _, *per_sample = gradients(_given_or_ones(gamma, src, over, e))
    affine = [norm.sum_over(found, range(axis)) for found in per_sample]
    return _in_dtypes(op, [diff_src, *affine])


def rms_norm(op: RMSNormalizationOp, e: Builder) -> Sequence[Value]:
    src, axis, epsilon = e(op.src), op.first_axis(), op.value("epsilon")
    gamma = _parameter(op, "gamma", e)
    if gamma is not None:
        return [src.apply(onnx.RMSNormalizationOp, gamma, axis=axis, epsilon=epsilon)]
    square = norm.mean_of(src.square(), range(axis, _rank(op)))
    return [src / (square + epsilon).sqrt()]


# Per channel


def group_norm(op: GroupNormalizationOp, e: Builder) -> Sequence[Value]:
    src, axis, groups = e(op.src), op.channel_axis(), op.value("groups")
    rank = _rank(op)
    split = norm.split_channels(src, axis, groups)
    over = norm.group_axes(axis, rank)
    mean = norm.mean_of(split, over)
    centred = split - mean
    variance = norm.mean_of(centred.square(), over)
    dst = norm.join_channels(centred / (variance + op.value("epsilon")).sqrt(), src)
    dst = _scale_and_shift(op, dst, axis, e)
    sides = [x.squeeze(over) for x in (mean, variance)]
    return _in_dtypes(op, [dst, *sides])


def _scale_and_shift(op: NormalizationOp, normal: Value, axis: int, e: Builder) -> Value:
    """Multiply by gamma and add beta, if present."""
    gamma, beta = _parameter(op, "gamma", e), _parameter(op, "beta", e)
    scaled = normal if gamma is None else normal * norm.per_channel(gamma, axis, _rank(op))
    return scaled if beta is None else scaled + norm.per_channel(beta, axis, _rank(op))


def batch_inference(op: InferenceOp, e: Builder) -> Sequence[Value]:
    """Lower to ONNX's op for channels first; for channels last, vectors broadcast."""
    src, axis, epsilon = e(op.src), op.channel_axis(), op.value("epsilon")
    gamma, beta, mean, variance = (_parameter_of(op, port, e) for port in op.PORTS[1:])
    if axis == 1:
        return [src.apply(onnx.BatchNormalizationOp, gamma, beta, mean, variance, epsilon=epsilon)]
    factor = gamma / (variance + epsilon).sqrt()
    return [(src - mean) * factor + beta]


def batch_training(op: TrainingOp, e: Builder) -> Sequence[Value]:
    src, axis, rank = e(op.src), op.channel_axis(), _rank(op)
    others = [i for i in range(rank) if i != axis]
    mean = norm.mean_of(src, others, keepdims=0)
    centred = src - norm.per_channel(mean, axis, rank)
    variance = norm.mean_of(centred.square(), others, keepdims=0)
    factor = norm.inverse_deviation(variance, op.value("epsilon"))
    gamma, beta = _parameter(op, "gamma", e), _parameter(op, "beta", e)
    scaled = centred * norm.per_channel(factor if gamma is None else factor * gamma, axis, rank)
    dst = scaled if beta is None else scaled + norm.per_channel(beta, axis, rank)
    momentum = op.value("momentum")
    pairs = (("mean", mean), ("variance", variance))
    running = [_parameter_of(op, port, e) * momentum + new * (1 - momentum) for port, new in pairs]
    return _in_dtypes(op, [dst, *running, mean, variance])


def batch_backward(op: TrainingBackwardOp, e: Builder) -> Sequence[Value]:
    """Lower the gradient. Without gamma the statistics are constants for src, as in the library."""
    src, diff_dst, axis = e(op.src), e(op.diff_dst), op.channel_axis()
    attributes = {"training_mode": 1, "epsilon": op.value("epsilon"), norm.CHANNEL_AXIS: axis}
    mean, variance = _parameter_of(op, "mean", e), _parameter_of(op, "variance", e)
    gamma = _parameter(op, "gamma", e)

    def gradients(scale: Value | None) -> Sequence[Value]:
        saved: list[Value | None] = [None, None, None, mean, variance]
        forward = Primal(e, (src, scale, scale), attributes, saved, read=(0,))
        found = norm.batch_normalization(forward, [diff_dst], e)
        return [gradient for gradient in found if isinstance(gradient, Value)]

    diff_src, *affine = gradients(_given_or_ones(gamma, src, [axis], e))
    if gamma is None:
        deviation = (variance + op.value("epsilon")).sqrt()
        diff_src = diff_dst / norm.per_channel(deviation, axis, src.rank)
    return _in_dtypes(op, [diff_src, *affine[:2]])


CONVERSIONS: Mapping[str, Callable[..., Sequence[Value]]] = MappingProxyType(
    {
        "BatchNormForwardTraining": batch_training,
        "BatchNormInference": batch_inference,
        "BatchNormTrainingBackward": batch_backward,
        "GroupNorm": group_norm,
        "LayerNorm": layer_norm,
        "LayerNormBackward": layer_norm_backward,
        "RMSNorm": rms_norm,
    }
)
