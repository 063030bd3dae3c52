"""Losses of class scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType, i64

from dialects.onnx import ops as onnx
from dialects.support.shapes import shape_of, show, tensor_type
from gradc.losses.base import LOG_PROBABILITIES, LOGITS, REDUCTIONS, Loss, reduce_all, type_of, wide
from gradc.ops import Builder, Value

IGNORED = -100
"""torch's default of `ignore_index`."""

OUT_OF_RANGE = 2**31 - 1
"""Index that replaces a negative label: ONNX's indices would count it from the last class."""


@dataclass(frozen=True, kw_only=True)
class ClassLoss(Loss):
    """Base of losses with one score per class along an axis."""

    weight: Sequence[float] | None = None
    ignore_index: int | None = IGNORED
    reduction: str = "mean"
    axis: int | None = None

    SCORES: ClassVar[str] = LOGITS

    def __post_init__(self) -> None:
        self.check_numbers("weight")
        self.check_int("ignore_index")
        self.check_choice("reduction", REDUCTIONS)
        self.check_int("axis")

    def class_axis(self, of: Sequence[TensorType]) -> int:
        """Return the axis of the classes. Raises UsageError for scores that the loss does not accept."""
        self.check_values(of)
        shape = shape_of(of[0])
        rank = len(shape)
        if not rank:
            raise self.error(f"of {self.SCORES}", show(shape), "an axis of classes")
        default = 0 if rank == 1 else 2 if rank == 3 else 1
        axis = default if self.axis is None else self.axis
        if not -rank <= axis < rank:
            raise self.error("axis", axis, f"{-rank} to {rank - 1}")
        size = shape[axis]
        if self.weight is not None and size != len(self.weight) and isinstance(size, int):
            raise self.error("weight", f"{len(self.weight)} numbers", f"{size}, one for each class")
        return axis % rank

    def index_labels(self, of: Sequence[TensorType]) -> Mapping[str, TensorType]:
        axis = self.class_axis(of)
        shape = shape_of(of[0])
        return {"label": tensor_type(i64, (*shape[:axis], *shape[axis + 1 :]))}

    def weights(self, like: Value) -> Value | None:
        if self.weight is None:
            return None
        return like.e.constant(np.array(self.weight), like)

    def pick(self, logarithms: Value, label: Value, axis: int) -> Picked:
        """Return the log-probabilities of the labels."""
        e = logarithms.e
        number = e.number(OUT_OF_RANGE, i64)
        index = (label >= 0).where(label, number)
        counted = None
        if self.ignore_index is not None:
            counted = label.equals(self.ignore_index).apply(onnx.NotOp)
            index = counted.where(index, 0)
        entries = logarithms.apply(onnx.GatherElementsOp, index.unsqueeze([axis]), axis=axis).squeeze([axis])
        weights = self.weights(logarithms)
        shares = None if weights is None else weights.apply(onnx.GatherOp, index, axis=0)
        return Picked(entries, counted, shares)

    def reduce(self, losses: Value, picked: Picked) -> Value:
        """Return the sum of the losses of each label, divided by the sum of the weights for the mean."""
        counted, shares = picked.counted, picked.shares
        losses = losses if counted is None else counted.where(losses, 0)
        if self.reduction == "mean" and counted is None and shares is None:
            return reduce_all(losses, "mean")
        total = reduce_all(losses, "sum")
        return total if self.reduction == "sum" else divide_by_count(total, picked.count(losses))


@dataclass(frozen=True)
class Picked:
    """Entries of the labels: log-probabilities, whether they are counted, and their class weights; None if
    all are counted or have weight 1."""

    entries: Value
    counted: Value | None
    shares: Value | None

    def count(self, like: Value) -> Value:
        """Return the sum of the weights of the counted labels."""
        if self.shares is None:
            assert self.counted is not None
            return reduce_all(self.counted.cast(like.dtype), "sum")
        shares = self.shares if self.counted is None else self.counted.where(self.shares, 0)
        return reduce_all(shares, "sum")

    def apply_weights(self, losses: Value) -> Value:
        return losses if self.shares is None else losses * self.shares


@dataclass(frozen=True, kw_only=True)
class NLL(ClassLoss):
    """Negative log-likelihood of log-probabilities p; torch.nn.NLLLoss.

    The loss of a label y is -w[y] p[y] with class weights w (1 by default), and 0 for y = ignore_index. The
    mean divides the sum by the sum of w[y] over the labels that are counted: NaN if there are none, as in
    torch, with gradients 0.

    log-probabilities and label: as for CrossEntropy without soft labels.
    """

    SCORES: ClassVar[str] = LOG_PROBABILITIES

    def labels(self, of: Sequence[TensorType]) -> Mapping[str, TensorType]:
        return self.index_labels(of)

    def write(self, of: Sequence[Value], labels: Mapping[str, Value], e: Builder) -> Value:
        axis = self.class_axis([type_of(of[0])])
        picked = self.pick(wide(of[0]), labels["label"], axis)
        return self.reduce(-picked.apply_weights(picked.entries), picked)


@dataclass(frozen=True, kw_only=True)
class CrossEntropy(ClassLoss):
    """Cross entropy of logits; torch.nn.CrossEntropyLoss.

    With log-probabilities p = logits - logsumexp(logits) along the class axis, class weights w (1 by default)
    and C classes, the loss of a label y is

        -(1 - s) w[y] p[y] - s/C sum over c of w[c] p[c],  s = label_smoothing

    and 0 for y = ignore_index. The mean divides the sum by the sum of w[y] over the labels that are counted:
    NaN if there are none, as in torch, with gradients 0. With `soft_labels` the label q is a distribution:
    the loss is -sum over c of w[c] ((1 - s) q[c] + s/C) p[c], and the mean divides by the number of rows.

    logits: floats [N, C, ...] with the classes on axis 1, but on the last one for rank 3, [N, T, V], unlike
    torch; `axis` overrides both.
    label: int64 of the shape of the logits without the class axis, 0 to C - 1 or ignore_index; with
    `soft_labels`, floats of the type and shape of the logits. Other integers are an error of onnxruntime's
    CPU kernels at run time; ONNX leaves the behaviour of other runtimes undefined.
    """

    label_smoothing: float = 0.0
    soft_labels: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_number("label_smoothing", 0, 1)
        self.check_flag("soft_labels")
        if self.soft_labels and self.ignore_index not in (None, IGNORED):
            raise self.error("ignore_index", self.ignore_index, "none with soft labels, which have no index")

    def class_axis(self, of: Sequence[TensorType]) -> int:
        axis, shape = super().class_axis(of), shape_of(of[0])
        if shape[axis] != 1:
            return axis
        hint = "the loss would be constant; BCEWithLogits takes one logit for two classes"
        raise self.error("of logits", f"{show(shape)}, one class on axis {axis}", hint=hint)

    def labels(self, of: Sequence[TensorType]) -> Mapping[str, TensorType]:
        self.class_axis(of)
        return {"label": of[0]} if self.soft_labels else self.index_labels(of)

    def write(self, of: Sequence[Value], labels: Mapping[str, Value], e: Builder) -> Value:
        axis = self.class_axis([type_of(of[0])])
        logarithms = wide(of[0]).apply(onnx.LogSoftmaxOp, axis=axis)
        if self.soft_labels:
            return self._of_distribution(logarithms, wide(labels["label"]), axis)
        picked = self.pick(logarithms, labels["label"], axis)
        losses = -picked.apply_weights(picked.entries)
        if self.label_smoothing:
            share = self.label_smoothing / logarithms.size(axis)
            losses = losses * (1 - self.label_smoothing) - self._class_sum(logarithms, axis) * share
        return self.reduce(losses, picked)

    def _class_sum(self, logarithms: Value, axis: int) -> Value:
        """Return the weighted sum of the log-probabilities over all classes."""
        weights = self.weights(logarithms)
        if weights is not None:
            logarithms = logarithms * _along(weights, axis, logarithms.rank)
        return logarithms.apply(onnx.ReduceSumOp, logarithms.e.ints([axis]), keepdims=0)

    def _of_distribution(self, logarithms: Value, label: Value, axis: int) -> Value:
        smoothing = self.label_smoothing
        if smoothing:
            label = label * (1 - smoothing) + smoothing / logarithms.size(axis)
        if (weights := self.weights(logarithms)) is not None:
            label = label * _along(weights, axis, logarithms.rank)
        rows = (logarithms * label).apply(onnx.ReduceSumOp, logarithms.e.ints([axis]), keepdims=0)
        return -reduce_all(rows, self.reduction)


def _along(vector: Value, axis: int, rank: int) -> Value:
    """Return a vector as a tensor that broadcasts along an axis."""
    behind = rank - 1 - axis
    return vector.unsqueeze(list(range(1, 1 + behind))) if behind else vector


def divide_by_count(total: Value, count: Value) -> Value:
    """Return total / count; NaN without a gradient for a count of 0."""
    some = count > 0
    return some.where(total / some.where(count, 1), float("nan"))
