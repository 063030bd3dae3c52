"""VJP rules of LRN, LpNormalization and MeanVarianceNormalization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from dialects.onnx import ops as onnx
from dialects.onnx.call import axes_of
from dialects.onnx.dims import TO_THE_END
from passes.autodiff.common.primal import Gradient, Primal, Rule
from passes.autodiff.common.slice_adjoint import pad_zeros
from passes.autodiff.nan_safety.norm_at_zero import nonzero_or_one
from passes.builder.values import Builder, Value


def lp_normalization(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """y = x / |x|: (g - y sum(g y)) / |x|, with sign(x) for y if p = 1; 0 where the norm is 0."""
    axes, first = e.ints([f.value("axis", -1)]), f.value("p", 2) == 1
    norm = f.x.apply(onnx.ReduceL1Op if first else onnx.ReduceL2Op, axes, keepdims=1)
    dot = (g[0] * f.y).apply(onnx.ReduceSumOp, axes, keepdims=1)
    inverse = (norm > 0).cast(norm.dtype) / nonzero_or_one(norm)
    return ((g[0] - (f.x.sign() if first else f.y) * dot) * inverse,)


def mean_variance_normalization(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """y = c / d, c = x - mean(x), d = s + 1e-9, s the deviation: (g - mean g - c mean(g y) / s) / d."""
    axes = e.ints(axes_of(f.value("axes", [0, 2, 3]), f.x.rank))

    def mean(x: Value) -> Value:
        return x.apply(onnx.ReduceMeanOp, axes, keepdims=1)

    centered = f.x - mean(f.x)
    deviation = mean(centered.square()).sqrt()
    inner = g[0] - mean(g[0]) - centered * (mean(g[0] * f.y) / nonzero_or_one(deviation))
    return (inner / (deviation + 1e-9),)


def local_response(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """y = x s^-b, s the sum over n channels: g s^-b - 2 a b / n x (the mirrored sum of g y / s)."""
    size, alpha, beta = f.value("size"), f.value("alpha", 1e-4), f.value("beta", 0.75)
    before, after = (size - 1) // 2, size // 2
    scale = alpha / size
    total = _nearby(f.x.square(), before, after) * scale + f.value("bias", 1.0)
    mirrored = _nearby(g[0] * f.y / total, after, before)
    return (g[0] * total.apply(onnx.PowOp, -beta) - f.x * mirrored * (2 * scale * beta),)


def _nearby(x: Value, before: int, after: int) -> Value:
    """Sum over the `before` previous channels, each channel itself, and the `after` next ones."""
    e, count = x.e, before + after + 1
    zeros = ([n if axis == 1 else 0 for axis in range(x.rank)] for n in (before, after))
    wide = pad_zeros(x, *zeros)
    total: Value | None = None
    for first in range(count):
        end = first + 1 - count or TO_THE_END
        part = wide.apply(onnx.SliceOp, e.ints([first]), e.ints([end]), e.ints([1])).assume_shape(x.shape)
        total = part if total is None else total + part
    assert total is not None
    return total


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "LRN": local_response,
        "LpNormalization": lp_normalization,
        "MeanVarianceNormalization": mean_variance_normalization,
    }
)
"""ONNX op -> its rule."""
