"""Adam and AdamW."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType

from gradc.optim.base import (
    Builder,
    ElementwiseOptimizer,
    Slot,
    Update,
    Value,
    bias_correction,
    decay,
    descent,
    scaled_average,
    with_l2,
    zeros,
)


@dataclass(frozen=True)
class _AdamUpdate(ElementwiseOptimizer):
    """The common part of Adam and AdamW."""

    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0
    amsgrad: bool = False
    maximize: bool = False

    def slots(self, parameter: TensorType) -> Mapping[str, Slot]:
        first, second = (1 - beta for beta in self.betas)
        largest = {"max_exp_avg_sq": second} if self.amsgrad else {}
        return zeros(parameter, exp_avg=first, exp_avg_sq=second, **largest)

    def update(
        self, p: Value, g: Value, state: Mapping[str, Value], lr: Value, step: Value, e: Builder
    ) -> Update:
        p, g = self._decay(p, descent(g, self.maximize), lr)
        first, second = self.betas
        new = {
            "exp_avg": scaled_average(state["exp_avg"], g, first),
            "exp_avg_sq": scaled_average(state["exp_avg_sq"], g.square(), second),
        }
        squares = new["exp_avg_sq"]
        if self.amsgrad:
            squares = new["max_exp_avg_sq"] = squares.at_least(state["max_exp_avg_sq"])
        number = step.cast(p.dtype)
        root = (bias_correction(second, number) / (1 - second)).sqrt()
        size = lr * root / bias_correction(first, number) * (1 - first)
        return p - new["exp_avg"] * size / (squares.sqrt() + root * self.eps), new

    @abstractmethod
    def _decay(self, p: Value, g: Value, lr: Value) -> tuple[Value, Value]:
        """Return the parameter and the gradient with the weight decay."""


@dataclass(frozen=True)
class Adam(_AdamUpdate):
    """Adam (Kingma and Ba 2014, arXiv:1412.6980), as torch.optim.Adam.

        g = g + weight_decay * p
        exp_avg = betas[0] * exp_avg + (1 - betas[0]) * g
        exp_avg_sq = betas[1] * exp_avg_sq + (1 - betas[1]) * g^2
        p = p - lr / (1 - betas[0]^step) * exp_avg / (sqrt(exp_avg_sq / (1 - betas[1]^step)) + eps)

    `amsgrad` (Reddi et al. 2018) divides by the largest exp_avg_sq so far, the state max_exp_avg_sq.
    `maximize` negates the gradient first. The stored states are those of the formula divided by 1 - beta,
    which saves two multiplications.
    """

    def _decay(self, p: Value, g: Value, lr: Value) -> tuple[Value, Value]:
        return p, with_l2(g, p, self.weight_decay)


@dataclass(frozen=True)
class AdamW(_AdamUpdate):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2017, arXiv:1711.05101), as torch.optim.AdamW.

    The formula is that of Adam, except that the decay is p = p * (1 - lr * weight_decay) before the update.
    """

    weight_decay: float = 0.01

    def _decay(self, p: Value, g: Value, lr: Value) -> tuple[Value, Value]:
        return decay(p, lr, self.weight_decay), g
