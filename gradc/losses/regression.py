"""Losses of a prediction and a label of its shape, element by element."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType

from dialects.support.shapes import shape_of
from gradc.losses.base import LOG_PROBABILITIES, LOGITS, REDUCTIONS, Loss, reduce_all, wide
from gradc.ops import Builder, Value


@dataclass(frozen=True)
class ElementwiseLoss(Loss):
    """Base of losses that sum or average a function of prediction and label over all elements."""

    reduction: str = "mean"

    def __post_init__(self) -> None:
        self.check_choice("reduction", REDUCTIONS)

    def labels(self, of: Sequence[TensorType]) -> Mapping[str, TensorType]:
        self.check_values(of)
        return {"label": of[0]}

    def write(self, of: Sequence[Value], labels: Mapping[str, Value], e: Builder) -> Value:
        return reduce_all(self.losses(wide(of[0]), wide(labels["label"])), self.reduction)

    @abstractmethod
    def losses(self, x: Value, label: Value) -> Value:
        """Return the loss of each element."""


@dataclass(frozen=True)
class MSE(ElementwiseLoss):
    """Squared error (x - label)^2; torch.nn.MSELoss.

    prediction: floats of any shape. label: floats of the type and shape of the prediction.
    """

    def losses(self, x: Value, label: Value) -> Value:
        return (x - label).square()


@dataclass(frozen=True)
class L1(ElementwiseLoss):
    """Absolute error |x - label|; torch.nn.L1Loss. The gradient at 0 is 0.

    prediction: floats of any shape. label: floats of the type and shape of the prediction.
    """

    def losses(self, x: Value, label: Value) -> Value:
        return (x - label).abs()


@dataclass(frozen=True)
class Huber(ElementwiseLoss):
    """Huber loss of d = x - label: d^2 / 2 for |d| <= delta, else delta (|d| - delta / 2);
    torch.nn.HuberLoss.

    prediction: floats of any shape. label: floats of the type and shape of the prediction.
    """

    delta: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_number("delta", 0, open_low=True)

    def losses(self, x: Value, label: Value) -> Value:
        return _huber(x - label, self.delta)


@dataclass(frozen=True)
class SmoothL1(ElementwiseLoss):
    """Smooth L1 loss of d = x - label: d^2 / (2 beta) for |d| < beta, else |d| - beta / 2;
    torch.nn.SmoothL1Loss. L1 for beta = 0.

    prediction: floats of any shape. label: floats of the type and shape of the prediction.
    """

    beta: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_number("beta", 0)

    def losses(self, x: Value, label: Value) -> Value:
        difference = x - label
        return _huber(difference, self.beta) / self.beta if self.beta else difference.abs()


@dataclass(frozen=True)
class BCEWithLogits(ElementwiseLoss):
    """Binary cross entropy of logits x and labels y in [0, 1]; torch.nn.BCEWithLogitsLoss.

        weight ((1 - y) x + (1 + (pos_weight - 1) y) log(1 + exp(-x)))

    without an overflow for large |x|. `weight` and `pos_weight`, both 1 by default, are numbers or arrays
    that broadcast to the logits: for [N, C] a list of C numbers, for [N, C, H, W] shape [C, 1, 1]. The mean
    divides by the number of elements, whatever the weights.

    logits: floats of any shape. label: floats of the type and shape of the logits, which are not checked to
    be in [0, 1].
    """

    SCORES: ClassVar[str] = LOGITS

    weight: Any = None
    pos_weight: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_array("weight")
        self.check_array("pos_weight")

    def labels(self, of: Sequence[TensorType]) -> Mapping[str, TensorType]:
        found = super().labels(of)
        self.check_broadcast("weight", of[0])
        self.check_broadcast("pos_weight", of[0])
        return found

    def losses(self, x: Value, label: Value) -> Value:
        e, negative = x.e, (-x).softplus()
        if self.pos_weight is not None:
            negative = negative * (label * e.constant(np.array(self.pos_weight) - 1, x) + 1)
        losses = (1 - label) * x + negative
        return losses if self.weight is None else losses * e.constant(np.array(self.weight), x)


@dataclass(frozen=True)
class KLDiv(ElementwiseLoss):
    """Kullback-Leibler divergence of log-probabilities x and a distribution; torch.nn.KLDivLoss.

    Each element is q (log q - x) for a probability q, 0 for q = 0; with `log_target` the label is log q. The
    reduction `batchmean` divides the sum by the size of axis 0: the mean of the divergences for [N, C].
    `mean`, torch's default, divides by the number of elements.

    log-probabilities: floats of any shape. label: floats of the type and shape of the log-probabilities.
    """

    SCORES: ClassVar[str] = LOG_PROBABILITIES

    log_target: bool = False

    def __post_init__(self) -> None:
        self.check_choice("reduction", (*REDUCTIONS, "batchmean"))
        self.check_flag("log_target")

    def labels(self, of: Sequence[TensorType]) -> Mapping[str, TensorType]:
        found = super().labels(of)
        if self.reduction == "batchmean" and not shape_of(of[0]):
            raise self.error("of log-probabilities", "[]", "an axis of samples, for batchmean")
        return found

    def write(self, of: Sequence[Value], labels: Mapping[str, Value], e: Builder) -> Value:
        losses = self.losses(wide(of[0]), wide(labels["label"]))
        if self.reduction != "batchmean":
            return reduce_all(losses, self.reduction)
        return reduce_all(losses, "sum") / losses.size(0)

    def losses(self, x: Value, label: Value) -> Value:
        if self.log_target:
            return label.exp() * (label - x)
        some = label > 0
        return some.where(label * some.where(label, 1).log(), 0) - label * x


def _huber(difference: Value, delta: float) -> Value:
    """Return c (d - c / 2) for c = d clipped to [-delta, delta], which squares no large d."""
    clipped = difference.clip_to(-delta, delta)
    return clipped * (difference - clipped * 0.5)
