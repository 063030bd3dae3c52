"""Normalizations over the last axes and over groups of channels, forward and backward.

With n = (x - mean) r and c the cotangent times the scale, the gradient of x is r (c - mean(c) - n mean(c n)).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute

from dialects.onnx import ops as onnx
from dialects.shapes.forms import Form
from dialects.shapes.sizes import floordiv
from dialects.support.dtypes import known_dtype
from passes.autodiff.rules.norm import Normalized, inverse_deviation, mean_of, per_channel, sum_over, wide
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call, Rule

# Over the last axes


def layer_norm(f: Call, e: Builder) -> Sequence[Value | None]:
    """LayerNormalization, with the mean and 1 / deviation that its gradient reads."""
    x, axes = f.input, _last_axes(f)
    if x.dtype != f32 or not axes:
        return _layer_norm_by_parts(f, x, axes)
    scale = f.weight if f.has("weight") else f.full(1, f.normalized_shape, x.dtype)
    made = onnx.LayerNormalizationOp(
        x.value, scale.value, f.bias.value if f.has("bias") else None, axis=axes[0], epsilon=f.eps
    )
    y, mean, r = (e(result) for result in e.emit.all(made))
    return [y, mean.cast(f.dtype_of(1)), r.cast(f.dtype_of(2))]


def _layer_norm_by_parts(f: Call, x: Value, axes: Sequence[int]) -> Sequence[Value | None]:
    """The same for dtypes in which the op has no statistics."""
    given = wide(x)
    mean = mean_of(given, axes)
    centred = given - mean
    r = inverse_deviation(mean_of(centred.square(), axes), f.eps)
    y = _affine(centred * r, f.weight, f.bias)
    return [y.cast(f.dtype), mean.cast(f.dtype_of(1)), r.cast(f.dtype_of(2))]


def layer_norm_backward(f: Call, e: Builder) -> Sequence[Value | None]:
    """Gradients of data, scale and shift from the saved statistics."""
    x, g, axes = wide(f.input), wide(f.grad_out), _last_axes(f)
    r = f.rstd.cast(x.dtype)
    n = Normalized((x - f.mean.cast(x.dtype)) * r, r, axes)
    outer = range(x.rank - len(axes))
    found: list[Value | None] = [None, None, None]
    if _wants(f, 0):
        found[0] = n.gradient(_times(g, f.weight)).cast(f.dtype)
    if _wants(f, 1):
        found[1] = sum_over(g * n.value, outer).cast(f.dtype_of(1))
    if _wants(f, 2):
        found[2] = sum_over(g, outer).cast(f.dtype_of(2))
    return found


def rms_norm(f: Call, e: Builder) -> Sequence[Value | None]:
    """x / sqrt(mean(x^2) + eps) times the scale."""
    x = wide(f.input)
    r = inverse_deviation(mean_of(x.square(), _last_axes(f)), _epsilon(f, f.input.dtype))
    return [_affine(x * r, f.weight, None).cast(f.dtype), r.cast(f.dtype_of(1))]


def rms_norm_backward(f: Call, e: Builder) -> Sequence[Value | None]:
    x, g, axes = wide(f.input), wide(f.grad_out), _last_axes(f)
    r = f.rstd.cast(x.dtype)
    n = Normalized(x * r, r, axes, less_mean=False)
    found: list[Value | None] = [None, None]
    if _wants(f, 0):
        found[0] = n.gradient(_times(g, f.weight)).cast(f.dtype)
    if _wants(f, 1):
        found[1] = sum_over(g * n.value, range(x.rank - len(axes))).cast(f.dtype_of(1))
    return found


def _epsilon(f: Call, dtype: Attribute) -> float:
    """Return eps; by default the distance from 1 to the next number."""
    if f.eps is not None:
        return f.eps
    kind = known_dtype(dtype).numpy
    return 2.0**-7 if kind.name == "bfloat16" else float(np.finfo(kind).eps)


def _last_axes(f: Call) -> list[int]:
    rank = f.input.rank
    return list(range(rank - len(f.normalized_shape), rank))


def _affine(x: Value, scale: Value | None, shift: Value | None) -> Value:
    scaled = x if scale is None else x * scale.cast(x.dtype)
    return scaled if shift is None else scaled + shift.cast(x.dtype)


def _times(g: Value, scale: Value | None) -> Value:
    return g if scale is None else g * scale.cast(g.dtype)


def _wants(f: Call, index: int) -> bool:
    return bool(f.output_mask[index]) and f.is_read(index)


# Over groups of channels


def group_norm(f: Call, e: Builder) -> Sequence[Value | None]:
    """Normalization of each group of channels of each sample; mean and 1 / deviation are (N, groups)."""
    x = wide(f.input)
    split = x.apply(onnx.ReshapeOp, f.vector(_group_sizes(f)), allowzero=1).assume_shape(_group_sizes(f))
    if not f.is_read(1) and not f.is_read(2) and x.dtype == f32:
        ones, zeros = (f.full(value, [f.group], x.dtype) for value in (1, 0))
        n = split.apply(onnx.InstanceNormalizationOp, ones, zeros, epsilon=f.eps)
        return [_on_channels(f, n).cast(f.dtype), None, None]
    mean = mean_of(split, [2])
    centred = split - mean
    r = inverse_deviation(mean_of(centred.square(), [2]), f.eps)
    y = _on_channels(f, centred * r).cast(f.dtype)
    return [y, mean.squeeze([2]).cast(f.dtype_of(1)), r.squeeze([2]).cast(f.dtype_of(2))]


def _on_channels(f: Call, n: Value) -> Value:
    """Return normalized groups in the shape of the data, with scale and shift of each channel."""
    whole = n.apply(onnx.ReshapeOp, f.vector(f.shape), allowzero=1).assume_shape(f.shape)
    scale, shift = (
        None if given is None else per_channel(given, 1, whole.rank) for given in (f.weight, f.bias)
    )
    return _affine(whole, scale, shift)


def _group_sizes(f: Call) -> list[Form]:
    return [f.N, f.group, floordiv(f.C, f.group) * f.HxW]


def group_norm_backward(f: Call, e: Builder) -> Sequence[Value | None]:
    """Gradients of data, scale and shift from the saved statistics."""
    x, g = wide(f.input), wide(f.grad_out)
    sizes = [f.N, f.group, floordiv(f.C, f.group), f.HxW]
    channels = [f.N, f.C, f.HxW]
    mean, r = (part.cast(x.dtype).unsqueeze([2, 3]) for part in (f.mean, f.rstd))
    split = [each.apply(onnx.ReshapeOp, f.vector(sizes), allowzero=1).assume_shape(sizes) for each in (x, g)]
    n = Normalized((split[0] - mean) * r, r, [2, 3])
    found: list[Value | None] = [None, None, None]
    if _wants(f, 0):
        scale = None
        if f.has("weight"):
            scale = f.weight.apply(onnx.ReshapeOp, f.vector([f.group, floordiv(f.C, f.group), 1]))
        back = n.gradient(_times(split[1], scale))
        found[0] = back.apply(onnx.ReshapeOp, f.vector(f.shape), allowzero=1).cast(f.dtype)
    if _wants(f, 1):
        product = (split[1] * n.value).apply(onnx.ReshapeOp, f.vector(channels), allowzero=1)
        found[1] = sum_over(product.assume_shape(channels), [0, 2]).cast(f.dtype_of(1))
    if _wants(f, 2):
        found[2] = sum_over(g, [0, *range(2, g.rank)]).cast(f.dtype_of(2))
    return found


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "_fused_rms_norm.default": rms_norm,
        "_fused_rms_norm_backward.default": rms_norm_backward,
        "native_group_norm.default": group_norm,
        "native_group_norm_backward.default": group_norm_backward,
        "native_layer_norm.default": layer_norm,
        "native_layer_norm_backward.default": layer_norm_backward,
    }
)
