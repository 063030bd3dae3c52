"""Losses of the difference between a prediction and a target of its shape."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType

from gradc.losses.base import REDUCTIONS, Loss, reduce_all, wide
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

    label: floats of the type and shape of the prediction.
    """

    def losses(self, x: Value, label: Value) -> Value:
        return (x - label).square()
