"""Batching rules of NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from dialects.onnx import ops as onnx
from dialects.onnx import traits
from passes.builder.values import Value
from passes.vectorize.batch import Batch, BatchingRule, OpCall, Operand, Result
from passes.vectorize.rules.folded import fold_at


def loss(f: OpCall, b: Batch) -> Sequence[Result] | None:
    """Fold the losses of all elements, and reduce them in each row."""
    how = f.value("reduction", "mean")
    found = fold_at(f, b, {0: 0, 1: 0}, reduction="none")
    if found is None or how == "none" or not f.op.results[0].first_use:
        return found
    losses, *others = found
    assert isinstance(losses, Value)
    target, weights, ignored = f.present[1], f.operand(2), f.value("ignore_index", None)
    axes = range(1, 1 + target.rank)
    if how == "mean" and weights is None and ignored is None:
        return [losses.apply(onnx.ReduceMeanOp, b.e.ints(axes), keepdims=0), *others]
    total = losses.sum_axes(axes)
    if how == "sum":
        return [total, *others]
    counted = _weights_of_targets(b, target.value, losses, weights, ignored)
    own_axes = range(target.batched, target.batched + target.rank)
    return [total / counted.sum_axes(own_axes), *others]


def _weights_of_targets(
    b: Batch, target: Value, losses: Value, weights: Operand | None, ignored: int | None
) -> Value:
    """Return the weight of each target in the mean: 0 if it is ignored."""
    one, zero = (b.e.scalar(number, losses) for number in (1, 0))
    if ignored is None:
        assert weights is not None
        return weights.value.apply(onnx.GatherOp, target, axis=0)
    is_ignored = target.equals(ignored)
    if weights is None:
        return is_ignored.where(zero, one)
    known = is_ignored.where(b.e.scalar(0, target), target)
    return is_ignored.where(zero, weights.value.apply(onnx.GatherOp, known, axis=0))


RULES: Mapping[str, BatchingRule] = MappingProxyType(dict.fromkeys(traits.LOSSES, loss))
