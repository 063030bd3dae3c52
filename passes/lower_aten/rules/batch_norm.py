"""Batch normalization by statistics of the batch or by running ones, forward and backward."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from dialects.aten.ratios import Ratio
from dialects.onnx import ops as onnx
from dialects.shapes.forms import Form
from passes.autodiff.rules.norm import inverse_deviation, mean_of, per_channel, sum_over, wide
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call, Rule


def _others(x: Value) -> list[int]:
    return [0, *range(2, x.rank)]


def _terms(f: Call) -> Form:
    """Return the number of elements of a channel."""
    sizes = [size for size in f.input.shape if size is not None]
    return math.prod([sizes[0], *sizes[2:]], start=1)


def by_running(f: Call, e: Builder) -> Value:
    """Normalize by the running mean and variance."""
    x, channels = f.input, f.shape[1:2]
    scale, shift = (
        given if given is not None else f.full(value, channels, f.running_mean.dtype)
        for given, value in ((f.weight, 1), (f.bias, 0))
    )
    if scale.dtype == x.dtype and f.running_mean.dtype == x.dtype:
        return x.apply(onnx.BatchNormalizationOp, scale, shift, f.running_mean, f.running_var, epsilon=f.eps)
    given = wide(x)
    mean, variance, scale, shift = (
        per_channel(part.cast(given.dtype), 1, x.rank)
        for part in (f.running_mean, f.running_var, scale, shift)
    )
    return ((given - mean) * (inverse_deviation(variance, f.eps) * scale) + shift).cast(f.dtype)


def by_batch(f: Call) -> tuple[Value, Value, Value, Value]:
    """Normalize by the batch: the result, the mean, 1 / deviation, and the variance."""
    x = wide(f.input)
    axes = _others(x)
    mean = mean_of(x, axes)
    centred = x - mean
    variance = mean_of(centred.square(), axes)
    r = inverse_deviation(variance, f.eps)
    y = centred * r if f.weight is None else centred * (r * per_channel(f.weight.cast(x.dtype), 1, x.rank))
    if f.bias is not None:
        y = y + per_channel(f.bias.cast(x.dtype), 1, x.rank)
    return y.cast(f.dtype), mean.squeeze(axes), r.squeeze(axes), variance.squeeze(axes)


def _empty(f: Call, index: int) -> Value | None:
    return f.full(0, f.shape_of(index), f.dtype_of(index)) if f.is_read(index) else None


def without_training(f: Call, e: Builder) -> Sequence[Value | None]:
    return [by_running(f, e), *(_empty(f, index) for index in range(1, len(f.op.results)))]


def normalization(f: Call, e: Builder) -> Sequence[Value | None]:
    """The result and the statistics by which it was normalized; running ones are not changed."""
    if not f.training:
        return without_training(f, e)
    y, mean, r, _ = by_batch(f)
    return [y, mean.cast(f.dtype_of(1)), r.cast(f.dtype_of(2))]


def hidden_updates(f: Call, e: Builder) -> Sequence[Value | None]:
    """The same for an op that changes the running statistics of a batch without a result for them."""
    if f.training and f.running_mean is not None:
        hint = "_native_batch_norm_legit_functional, which has results for them"
        raise f.refusal("running statistics that change", given="no result for them", hint=hint)
    return normalization(f, e)


def with_updates(f: Call, e: Builder) -> Sequence[Value | None]:
    """The same, with the new running statistics as results."""
    if f.has("training") and not f.training:
        return [by_running(f, e), _empty(f, 1), _empty(f, 2), f.running_mean, f.running_var]
    y, mean, r, variance = by_batch(f)
    return [y, mean.cast(f.dtype_of(1)), r.cast(f.dtype_of(2)), *_new_statistics(f, mean, variance)]


def _new_statistics(f: Call, mean: Value, variance: Value) -> list[Value | None]:
    """Return the running statistics, the variance with n - 1 for n, moved towards those of the batch."""
    count = _terms(f)
    factor = count / max(count - 1, 1) if isinstance(count, int) else Ratio(count, count - 1)
    found: list[Value | None] = []
    for old, new in ((f.running_mean, mean), (f.running_var, variance * f.number(factor, variance.dtype))):
        if old is None:
            found.append(None)
            continue
        rate = _rate(f, new)
        found.append((old.cast(new.dtype) * (1 - rate) + new * rate).cast(old.dtype))
    return found


def _rate(f: Call, like: Value) -> Value | float:
    """Return the momentum; 0 at run time if the batch is empty, as torch keeps its statistics then."""
    count = _terms(f)
    if isinstance(count, int):
        return f.momentum if count else 0.0
    return f.number(count, like.dtype).at_most(1) * f.momentum


def with_reserve(f: Call, e: Builder) -> Sequence[Value | None]:
    """The same with a result for other devices' saved data, which is empty."""
    y, mean, r, *new = with_updates(f, e)
    return [y, mean, r, _empty(f, 3), *new]


def without_updates(f: Call, e: Builder) -> Sequence[Value | None]:
    return [by_running(f, e), *(_empty(f, index) for index in (1, 2, 3))]


def backward(f: Call, e: Builder) -> Sequence[Value | None]:
    """Gradients of data, scale and shift."""
    is_training = f.train if f.has("train") else f.update
    x, g = wide(f.input), wide(f.grad_out)
    axes = _others(x)
    if is_training:
        mean, r = f.save_mean.cast(x.dtype), (f.save_invstd if f.has("save_invstd") else f.save_var)
        r = r.cast(x.dtype)
    else:
        mean, r = f.running_mean.cast(x.dtype), inverse_deviation(f.running_var.cast(x.dtype), f.eps)
    centred = x - per_channel(mean, 1, x.rank)
    total, along = sum_over(g, axes), sum_over(g * centred, axes)
    factor = r if f.weight is None else r * f.weight.cast(x.dtype)
    found: list[Value | None] = [None, None, None]
    if f.output_mask[0] and f.is_read(0):
        dx = g
        if is_training:
            count = f.number(_terms(f), x.dtype)
            dx = (
                g
                - per_channel(total / count, 1, x.rank)
                - centred * per_channel(r.square() * (along / count), 1, x.rank)
            )
        found[0] = (dx * per_channel(factor, 1, x.rank)).cast(f.dtype)
    if f.output_mask[1] and f.is_read(1):
        found[1] = (along * r).cast(f.dtype_of(1))
    if f.output_mask[2] and f.is_read(2):
        found[2] = total.cast(f.dtype_of(2))
    return found


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "_batch_norm_no_update.default": without_updates,
        "_batch_norm_with_update_functional.default": with_reserve,
        "_native_batch_norm_legit.no_stats": normalization,
        "_native_batch_norm_legit_functional.default": with_updates,
        "_native_batch_norm_legit_no_training.default": without_training,
        "batch_norm_backward.default": backward,
        "native_batch_norm.default": hidden_updates,
        "native_batch_norm_backward.default": backward,
    }
)
