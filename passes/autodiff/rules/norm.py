"""VJP rules of normalizations.

With c the cotangent times the scale, n = (x - mean) r the normalized operand and r = 1 / sqrt(variance +
epsilon), the gradient of x is r (c - mean(c) - n mean(c n)); the means are over the normalized axes. Half
types are computed in f32.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from xdsl.dialects.builtin import ModuleOp, f32, i64
from xdsl.ir import Operation

from dialects.onnx import ops as onnx
from dialects.support.dtypes import HALVES, name_of
from dialects.support.shapes import shape_of
from passes.autodiff.common.primal import ZERO, Gradient, Primal, Rule
from passes.builder.long_sums import is_long, long_mean, long_sum
from passes.builder.values import Builder, Value
from passes.fold_affine.affine_ops import CENTRED, EPSILON, is_one

MOST_TERMS = 2**20
"""Statistics over more terms are computed in stages; those of images need one."""

CHANNEL_AXIS = "channel_axis"
"""Internal attribute: the channel axis of NXC sources; ONNX's is 1."""


# Shared helpers


def wide(x: Value) -> Value:
    return x.cast(f32) if name_of(x.dtype) in HALVES else x


def sum_over(x: Value, axes: Sequence[int], keepdims: int = 0) -> Value:
    if not axes:
        return x
    is_staged = is_long(x, axes, MOST_TERMS)
    return long_sum(x, axes, keepdims, MOST_TERMS) if is_staged else x.sum_axes(axes, keepdims)


def mean_of(x: Value, axes: Sequence[int], keepdims: int = 1) -> Value:
    return long_mean(x, axes, keepdims, MOST_TERMS) if axes else x


def inverse_deviation(variance: Value, epsilon: float) -> Value:
    return (variance + epsilon).sqrt().apply(onnx.ReciprocalOp)


def count(x: Value, axes: Sequence[int]) -> Value | float:
    """Return the number of elements along some axes: static, or a scalar."""
    sizes = [shape_of(x.value)[axis] for axis in axes]
    known = [size for size in sizes if isinstance(size, int)]
    if len(known) == len(sizes):
        return float(max(math.prod(known), 1))
    vector = x.e(x.e.emit.sizes(x.value, axes))
    product = vector.apply(onnx.ReduceProdOp, keepdims=0)
    least = x.e(x.e.emit.constant(np.array(1, np.int64)))
    assert product.dtype == i64
    return x.e(x.e.emit(onnx.MaxOp([product.value, least.value]))).cast(x.dtype)


@dataclass(frozen=True)
class Normalized:
    """A centered or plain operand times r, normalized over `axes`; `less_mean` if its mean was subtracted."""

    value: Value
    r: Value
    axes: Sequence[int]
    less_mean: bool = True

    def gradient(self, cotangent: Value) -> Value:
        """Return the gradient with respect to the operand."""
        along = mean_of(cotangent * self.value, self.axes)
        rest = cotangent - mean_of(cotangent, self.axes) if self.less_mean else cotangent
        return self.r * (rest - self.value * along)


def normalize(x: Value, axes: Sequence[int], epsilon: float) -> Normalized:
    centred = x - mean_of(x, axes)
    r = inverse_deviation(mean_of(centred.square(), axes), epsilon)
    return Normalized(centred * r, r, axes)


def _scale(f: Primal, like: Value) -> Value | None:
    """Return the scale, or None for ones."""
    scale = f.operand(1)
    return None if scale is None or is_one(scale.value) else scale.cast(like.dtype)


def _last_axes(f: Primal) -> range:
    rank = len(shape_of(f.x.value))
    return range(f.value("axis", -1) % rank, rank)


# Over the last axes


def layer_normalization(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of LayerNormalization from its own statistics, which may have cotangents, too."""
    x, cotangent, axes = wide(f.x), wide(g[0]), _last_axes(f)
    n, scale = _layer(f, x, axes), _scale(f, x)
    dx = n.gradient(cotangent if scale is None else cotangent * scale)
    if len(g) > 1 and f.is_read(1):
        dx = dx + g[1].cast(x.dtype) / count(x, axes)
    if len(g) > 2 and f.is_read(2):
        dx = dx - n.value * (g[2].cast(x.dtype) * n.r.square() / count(x, axes))
    return (dx.cast(f.x.dtype), *_affine(f, cotangent * n.value, cotangent))


def _layer(f: Primal, x: Value, axes: Sequence[int]) -> Normalized:
    mean, r = f.result_or_none(1), f.result_or_none(2)
    is_plain = _scale(f, x) is None and f.operand(2) is None and f.has_result
    if is_plain and r is not None and r.dtype == x.dtype:
        return Normalized(wide(f.y), r, axes, less_mean=not _is_centred(f))
    if mean is None or r is None or mean.dtype != x.dtype or r.dtype != x.dtype:
        return normalize(x, axes, f.value("epsilon", EPSILON))
    return Normalized((x - mean) * r, r, axes)


def _is_centred(f: Primal) -> bool:
    made = f.y.value.owner
    return isinstance(made, Operation) and CENTRED in made.attributes


def unmark_centred(module: ModuleOp) -> None:
    """Remove the marks: a later differentiation finds other readers."""
    for op in module.walk():
        op.attributes.pop(CENTRED, None)


def rms_normalization(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    x, cotangent, axes = wide(f.x), wide(g[0]), _last_axes(f)
    r = inverse_deviation(mean_of(x.square(), axes), f.value("epsilon", EPSILON))
    n = Normalized(x * r, r, axes, less_mean=False)
    scale = _scale(f, x)
    dx = n.gradient(cotangent if scale is None else cotangent * scale)
    return (dx.cast(f.x.dtype), *_affine(f, cotangent * n.value))


def _affine(f: Primal, *gradients: Value) -> list[Gradient]:
    """Return the gradients of scale and shift in their dtypes, for those that are present."""
    found: list[Gradient] = []
    for index, gradient in enumerate(gradients, 1):
        operand = f.operand(index)
        found.append(ZERO if operand is None else gradient.cast(operand.dtype))
    return found[: len(f.operands) - 1]


# Per channel


def per_channel(vector: Value, axis: int, rank: int) -> Value:
    """Unsqueeze a vector to broadcast along an axis."""
    behind = range(1, rank - axis)
    return vector.unsqueeze(behind) if behind else vector


def _channel_axis(f: Primal) -> int:
    return f.value(CHANNEL_AXIS, 1) % len(shape_of(f.x.value))


def _others(f: Primal) -> list[int]:
    axis = _channel_axis(f)
    return [i for i in range(len(shape_of(f.x.value))) if i != axis]


def batch_normalization(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    if f.value("training_mode", 0):
        return _batch_training(f, g, e)
    x, cotangent, axes = wide(f.x), wide(g[0]), _others(f)
    scale, _, mean, variance = (_parameter(f, index, x) for index in range(1, 5))
    assert mean is not None
    assert variance is not None
    r = inverse_deviation(variance, f.value("epsilon", EPSILON))
    factor = r if scale is None else r * scale
    shaped = [per_channel(v, _channel_axis(f), len(shape_of(x.value))) for v in (mean, factor)]
    total = sum_over(cotangent, axes)
    along = sum_over(cotangent * (x - shaped[0]), axes)
    gradients = (
        cotangent * shaped[1],
        along * r,
        total,
        -(factor * total),
        factor * r.square() * along * -0.5,
    )
    return _in_dtypes(f, gradients)


def _batch_training(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of training mode; results[3] and [4], absent in ONNX, are saved batch mean and variance."""
    x, cotangent, axes = wide(f.x), wide(g[0]), _others(f)
    axis, rank = _channel_axis(f), len(shape_of(f.x.value))
    mean, variance, scale = (
        None if given is None else given.cast(x.dtype)
        for given in (f.result_or_none(3), f.result_or_none(4), f.operand(1))
    )
    centred = x - (mean_of(x, axes) if mean is None else per_channel(mean, axis, rank))
    epsilon = f.value("epsilon", EPSILON)
    if variance is None:  # in the form of the decomposed op, which then shares it
        spread = inverse_deviation(mean_of(centred.square(), axes), epsilon)
        r = spread.squeeze(axes)
    else:
        r = inverse_deviation(variance, epsilon)
        spread = per_channel(r, axis, rank)
    factor = spread if scale is None else spread * per_channel(scale, axis, rank)
    terms, total, along = count(x, axes), sum_over(cotangent, axes), sum_over(cotangent * centred, axes)
    mean_cotangent, mean_product = (per_channel(one / terms, axis, rank) for one in (total, along))
    dx = factor * (cotangent - mean_cotangent) - centred * (factor * spread.square() * mean_product)
    momentum = f.value("momentum", 0.9)
    old: list[Gradient] = [ZERO, ZERO]
    for place, weight in ((0, None), (1, centred)):
        if len(g) <= place + 1 or not f.is_read(place + 1):
            continue
        given = g[place + 1].cast(x.dtype)
        new = per_channel(given * (1 - momentum) / terms, axis, rank)
        dx = dx + (new if weight is None else new * weight * 2)
        old[place] = given * momentum
    return _in_dtypes(f, (dx, along * r, total, *old))


def _parameter(f: Primal, index: int, like: Value) -> Value | None:
    given = f.operand(index)
    return None if given is None else given.cast(like.dtype)


def _in_dtypes(f: Primal, gradients: Sequence[Gradient]) -> list[Gradient]:
    """Cast each gradient to its operand's dtype; ZERO for an absent operand."""
    found: list[Gradient] = []
    for index, gradient in enumerate(gradients):
        operand = f.operand(index)
        if operand is None or not isinstance(gradient, Value):
            found.append(ZERO)
            continue
        found.append(gradient.cast(operand.dtype))
    return found


def instance_normalization(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of InstanceNormalization, over each channel of each sample."""
    x, cotangent = wide(f.x), wide(g[0])
    rank = len(shape_of(x.value))
    scale = _parameter(f, 1, x)
    assert scale is not None
    n = normalize(x, range(2, rank), f.value("epsilon", EPSILON))
    dx = n.gradient(cotangent * per_channel(scale, 1, rank))
    others = [0, *range(2, rank)]
    return _in_dtypes(f, (dx, sum_over(cotangent * n.value, others), sum_over(cotangent, others)))


def group_normalization(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of GroupNormalization, over the channels of a group in each sample."""
    x, cotangent, axis = wide(f.x), wide(g[0]), _channel_axis(f)
    rank, groups = len(shape_of(x.value)), f.value("num_groups")
    scale = _parameter(f, 1, x)
    assert scale is not None
    split = split_channels(x, axis, groups)
    n = normalize(split, group_axes(axis, rank), f.value("epsilon", EPSILON))
    scaled = cotangent * per_channel(scale, axis, rank)
    dx = join_channels(n.gradient(split_channels(scaled, axis, groups)), x)
    others = [i for i in range(rank) if i != axis]
    products = sum_over(cotangent * join_channels(n.value, x), others)
    return _in_dtypes(f, (dx, products, sum_over(cotangent, others)))


def group_axes(axis: int, rank: int) -> list[int]:
    """Return the axes of one group and sample, after the channel axis was split."""
    return [i for i in range(1, rank + 1) if i != axis]


def split_channels(x: Value, axis: int, groups: int) -> Value:
    """Split the channel axis into groups and channels per group."""
    emit, rank = x.e.emit, len(shape_of(x.value))
    before = emit.sizes(x.value, range(axis))
    behind = emit.sizes(x.value, range(axis + 1, rank))
    channels = emit.sizes(x.value, [axis])
    inner = emit.div(channels, emit.ints([groups]))
    parts = [before, emit.ints([groups]), inner, *([behind] if axis + 1 < rank else [])]
    return x.apply(onnx.ReshapeOp, x.e(emit.concat(parts)))


def join_channels(split: Value, like: Value) -> Value:
    """Undo `split_channels`."""
    sizes = like.e.emit.sizes(like.value, range(len(shape_of(like.value))))
    return split.apply(onnx.ReshapeOp, like.e(sizes))


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "BatchNormalization": batch_normalization,
        "GroupNormalization": group_normalization,
        "InstanceNormalization": instance_normalization,
        "LayerNormalization": layer_normalization,
        "RMSNormalization": rms_normalization,
    }
)
"""ONNX op -> its rule. Gradients of a broadcast scale and shift are not summed: the caller does."""
