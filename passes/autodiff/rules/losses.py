"""VJP rules of classification losses; labels have no gradient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from xdsl.dialects.builtin import i64

from dialects.onnx import ops as onnx
from passes.autodiff.common.label_scatter import LabelScatter
from passes.autodiff.common.primal import ZERO, Gradient, Primal, Rule
from passes.builder.values import Builder, Value


def negative_log_likelihood(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    labels = Labels.of(f, g[0])
    by_weights = _of_weights(f, labels, f.x, g[0]) if f.wants(2) else ZERO
    return (_of_logarithms(f, labels, g[0]).dense(f.x) if f.wants(0) else ZERO, ZERO, by_weights)


def softmax_cross_entropy(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP by the log-probabilities, whose cotangent as second result is added."""
    logarithms = f.results[1]
    assert logarithms is not None
    if not f.is_read(0):
        return (_of_softmax(logarithms, g[1]) if f.wants(0) else ZERO, ZERO, ZERO)
    labels = Labels.of(f, g[0])
    by_weights = _of_weights(f, labels, logarithms, g[0]) if f.wants(2) else ZERO
    if not f.wants(0):
        return (ZERO, ZERO, by_weights)
    scatter = _of_logarithms(f, labels, g[0])
    others = g[1] if f.is_read(1) else None
    return (scatter.log_softmax_adjoint(logarithms, others), ZERO, by_weights)


@dataclass(frozen=True)
class Labels:
    """Labels (N, ...): class indices, and their class weights, which are 0 for ignored labels."""

    indices: Value
    weights: Value
    counted: Value | None

    @classmethod
    def of(cls, f: Primal, g: Value) -> Labels:
        given, ignored, weights = f.required(1), f.value("ignore_index"), f.operand(2)
        indices, counted = given.cast(i64), None
        if ignored is not None:
            counted = given.equals(ignored).apply(onnx.NotOp)
            indices = counted.where(indices, 0)
        if weights is not None:
            found = weights.apply(onnx.GatherOp, indices, axis=0)
            return cls(indices, found if counted is None else counted.where(found, 0), counted)
        if counted is None:
            return cls(indices, f.e.scalar(1, g).apply(onnx.ExpandOp, f.e.shape(given)), None)
        return cls(indices, counted.cast(g.dtype), counted)

    def only_counted(self, values: Value) -> Value:
        return values if self.counted is None else self.counted.where(values, 0)


def _of_softmax(logarithms: Value, cotangent: Value) -> Value:
    total = cotangent.apply(onnx.ReduceSumOp, cotangent.e.ints([1]), keepdims=1)
    return cotangent - logarithms.exp() * total


def _of_logarithms(f: Primal, labels: Labels, g: Value) -> LabelScatter:
    """Return the gradient by log-probabilities: minus the label's weight, normalized for the mean."""
    parts = labels.only_counted(_share(f, g, labels.weights) * labels.weights)
    return LabelScatter(labels.indices.unsqueeze([1]), -parts.unsqueeze([1]), 1)


def _of_weights(f: Primal, labels: Labels, logarithms: Value, g: Value) -> Value:
    """Return the gradient by class weights: minus the labels' log-probabilities, relative to a mean loss."""
    e, weights = f.e, f.required(2)
    entries = logarithms.apply(onnx.GatherElementsOp, labels.indices.unsqueeze([1]), axis=1).squeeze([1])
    above = entries + f.y if f.value("reduction", "mean") == "mean" else entries
    parts = labels.only_counted(_share(f, g, labels.weights) * above)
    zeros, flat = e.fill_like(0, weights), e.ints([-1])
    places, updates = (x.apply(onnx.ReshapeOp, flat) for x in (labels.indices, -parts))
    return zeros.apply(onnx.ScatterElementsOp, places, updates, axis=0, reduction="add")


def _share(f: Primal, g: Value, weights: Value) -> Value:
    match f.value("reduction", "mean"):
        case "mean":
            return g / weights.apply(onnx.ReduceSumOp, keepdims=0)
        case _:
            return g


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "NegativeLogLikelihoodLoss": negative_log_likelihood,
        "SoftmaxCrossEntropyLoss": softmax_cross_entropy,
    }
)
"""ONNX op -> its rule."""
