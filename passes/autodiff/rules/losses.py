"""VJP rules of classification losses; labels have no gradient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from xdsl.dialects.builtin import f32, f64, i64

from dialects.onnx import ops as onnx
from passes.autodiff.common.primal import ZERO, Gradient, Primal, Rule
from passes.autodiff.common.slice_adjoint import size_of
from passes.builder.values import Value, ValueBuilder


def negative_log_likelihood(f: Primal, g: Sequence[Value], e: ValueBuilder) -> Sequence[Gradient]:
    by_weights = _of_weights(f, f.x, g[0]) if f.wants(2) else ZERO
    return (_of_logarithms(f, g[0]) if f.wants(0) else ZERO, ZERO, by_weights)


def softmax_cross_entropy(f: Primal, g: Sequence[Value], e: ValueBuilder) -> Sequence[Gradient]:
    """VJP by the log-probabilities, whose cotangent as second result is added."""
    logarithms = f.results[1]
    assert logarithms is not None
    by_weights = _of_weights(f, logarithms, g[0]) if f.wants(2) and f.is_read(0) else ZERO
    if not f.wants(0):
        return (ZERO, ZERO, by_weights)
    parts = [_of_logarithms(f, g[0])] if f.is_read(0) else []
    parts += [g[1]] if f.is_read(1) else []
    inner = parts[0] if len(parts) == 1 else parts[0] + parts[1]
    total = inner.apply(onnx.ReduceSumOp, e.ints([1]), keepdims=1)
    return (inner - logarithms.exp() * total, ZERO, by_weights)


def _of_logarithms(f: Primal, g: Value) -> Value:
    """Return the gradient by log-probabilities: minus the label's weight, normalized for the mean."""
    weighted = _apply_weights(f, _one_hot_labels(f, g))
    return -(_share(f, g, weighted) * weighted)


def _of_weights(f: Primal, logarithms: Value, g: Value) -> Value:
    """Return the gradient by class weights: minus the labels' log-probabilities, relative to a mean loss."""
    labelled = _one_hot_labels(f, g)
    above = logarithms + f.y if f.value("reduction", "mean") == "mean" else logarithms
    parts = _share(f, g, _apply_weights(f, labelled)) * labelled * above
    others = [0, *range(2, f.x.rank)]
    return -parts.apply(onnx.ReduceSumOp, f.e.ints(others), keepdims=0)


def _share(f: Primal, g: Value, weighted: Value) -> Value:
    match f.value("reduction", "mean"):
        case "none":
            return g.unsqueeze([1])
        case "mean":
            return g / weighted.apply(onnx.ReduceSumOp, keepdims=0)
        case _:
            return g


def _one_hot_labels(f: Primal, g: Value) -> Value:
    """Return the one-hot labels (N, C, ...), zeros for ignored ones."""
    e, labels, ignored = f.e, f.operand(1), f.value("ignore_index")
    assert labels is not None
    size = size_of(f.x, 1)
    depth = e.ints([size]) if isinstance(size, int) else size
    numbers = [e.scalar(i, g).cast(f32 if g.dtype == f64 else g.dtype) for i in (0, 1)]
    entries = [number.unsqueeze([0]).value for number in numbers]
    values = e(e.emit(onnx.ConcatOp(entries, axis=0)))
    places = labels.cast(i64)  # onnxruntime has no kernel for i32 labels with an i64 depth, nor for f64
    found = places.apply(onnx.OneHotOp, depth, values, axis=1).assume_shape(f.x.shape).cast(g.dtype)
    if ignored is None:
        return found
    counted = labels.equals(ignored).apply(onnx.NotOp).cast(g.dtype)
    return found * counted.unsqueeze([1])


def _apply_weights(f: Primal, labelled: Value) -> Value:
    weights, others = f.operand(2), [0, *range(2, f.x.rank)]
    if weights is None:
        return labelled
    return labelled * weights.unsqueeze(others)


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "NegativeLogLikelihoodLoss": negative_log_likelihood,
        "SoftmaxCrossEntropyLoss": softmax_cross_entropy,
    }
)
"""ONNX op -> its rule."""
