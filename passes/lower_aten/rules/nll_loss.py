"""The negative log-likelihood loss of class labels, and its gradient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from dialects.onnx import ops as onnx
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call, Rule

NONE, MEAN, SUM = range(3)
"""torch's numbers of the reductions."""


def nll_loss(f: Call, e: Builder) -> Sequence[Value | None]:
    """The loss, and the sum of the weights of the labels that are not ignored (0 without a reduction)."""
    labels = _Labels(f)
    entries = labels.of_labels(f.self)
    losses = -(entries if labels.weights is None else entries * labels.weights)
    counted = losses if labels.is_counted is None else labels.is_counted.where(losses, 0)
    if f.reduction == NONE:
        if labels.single:
            return [counted.squeeze([0]), labels.total_weight()]
        return [counted, e.scalar(0, f.self)]
    total = _total_of(counted)
    weight = labels.total_weight() if f.reduction == MEAN or f.is_read(1) else None
    return [total if f.reduction == SUM or weight is None else total / weight, weight]


def nll_loss_backward(f: Call, e: Builder) -> Value:
    """Minus the label's weight at the label, relative to the total weight for the mean."""
    labels = _Labels(f)
    g = f.grad_output / f.total_weight if f.reduction == MEAN else f.grad_output
    parts = -g if labels.weights is None else -(g * labels.weights)
    if labels.single and parts.rank == 0:
        parts = parts.unsqueeze([0])
    if labels.is_counted is not None:
        parts = labels.is_counted.where(parts, 0)
    places = labels.indices.unsqueeze([1])
    updates = parts.apply(onnx.ExpandOp, e.shape(labels.indices)).unsqueeze([1])
    zeros = e.fill_like(0, labels.rows(f.self))
    found = zeros.apply(onnx.ScatterElementsOp, places, updates, axis=1)
    return found.squeeze([0]) if labels.single else found


class _Labels:
    """The labels (N, ...) of a call; those that are ignored are 0, and not counted."""

    def __init__(self, f: Call):
        self.single, self.like = f.self.rank == 1, f.self
        given: Value = f.target.as_int64()
        if self.single and given.rank == 0:
            given = given.unsqueeze([0])
        self.is_counted: Value | None = given.equals(f.ignore_index).apply(onnx.NotOp)
        self.indices = self.is_counted.where(given, 0)
        self.weights = f.weight.apply(onnx.GatherOp, self.indices, axis=0) if f.has("weight") else None

    def rows(self, x: Value) -> Value:
        return x.unsqueeze([0]) if self.single else x

    def of_labels(self, x: Value) -> Value:
        """Return the elements at the labels."""
        return self.rows(x).apply(onnx.GatherElementsOp, self.indices.unsqueeze([1]), axis=1).squeeze([1])

    def total_weight(self) -> Value:
        assert self.is_counted is not None
        counted = self.is_counted
        if self.weights is None:
            return _total_of(counted.cast(self.like.dtype))
        return _total_of(counted.where(self.weights, 0))


def _total_of(x: Value) -> Value:
    return x.sum_axes(range(x.rank))


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "nll_loss_forward.default": nll_loss,
        "nll_loss_backward.default": nll_loss_backward,
        "nll_loss2d_forward.default": nll_loss,
        "nll_loss2d_backward.default": nll_loss_backward,
    }
)
