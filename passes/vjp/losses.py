"""The derivatives of losses of labels that are data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from dialects.onnx import ops as onnx
from passes.emit.expressions import Expr, Operators
from passes.vjp.forward import ZERO, Forward, Gradient, Rule, refusal
from passes.vjp.slices import size_of


def negative_log_likelihood(f: Forward, g: Sequence[Expr], e: Operators) -> Sequence[Gradient]:
    return (_of_logarithms(f, g[0]), ZERO, ZERO)


def softmax_cross_entropy(f: Forward, g: Sequence[Expr], e: Operators) -> Sequence[Gradient]:
    """By the logarithms, the second result, whose own cotangent is added to that by the loss."""
    logarithms = f.results[1]
    assert logarithms is not None
    parts = [_of_logarithms(f, g[0])] if f.is_read(0) else []
    parts += [g[1]] if f.is_read(1) else []
    inner = parts[0] if len(parts) == 1 else parts[0] + parts[1]
    total = inner.apply(onnx.ReduceSumOp, e.ints([1]), keepdims=1)
    return (inner - logarithms.exp() * total, ZERO, ZERO)


def _of_logarithms(f: Forward, g: Expr) -> Expr:
    """The negative weight of each label at its place; for the mean, as a share of all weights."""
    if f.wants(2):
        raise refusal("the gradient by the weights of classes is not written")
    weighted = _weighted(f, g)
    how = f.value("reduction", "mean")
    if how == "none":
        return -(g.apply(onnx.UnsqueezeOp, f.e.ints([1])) * weighted)
    share = g / weighted.apply(onnx.ReduceSumOp, keepdims=0) if how == "mean" else g
    return -(share * weighted)


def _weighted(f: Forward, g: Expr) -> Expr:
    """(N, C, ...): the weight of a label at its place, 0 elsewhere and where the label is to be ignored."""
    e, labels, weights, ignored = f.e, f.operand(1), f.operand(2), f.value("ignore_index")
    assert labels is not None
    size = size_of(f.x, 1)
    depth = e.ints([size]) if isinstance(size, int) else size
    numbers = [e.scalar(i, g).apply(onnx.UnsqueezeOp, e.ints([0])).value for i in (0, 1)]
    values = e(e.emit(onnx.ConcatOp(numbers, axis=0)))
    found = labels.apply(onnx.OneHotOp, depth, values, axis=1).assumed(f.x.shape)
    if ignored is not None:
        counted = labels.equals(ignored).apply(onnx.NotOp).cast(g.dtype)
        found = found * counted.apply(onnx.UnsqueezeOp, e.ints([1]))
    if weights is None:
        return found
    others = [0, *range(2, f.x.rank)]
    return found * weights.apply(onnx.UnsqueezeOp, e.ints(others))


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "NegativeLogLikelihoodLoss": negative_log_likelihood,
        "SoftmaxCrossEntropyLoss": softmax_cross_entropy,
    }
)
"""ONNX op -> its rule."""
