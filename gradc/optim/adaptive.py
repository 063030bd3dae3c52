"""RMSprop and Adagrad."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType

from gradc.optim.base import (
    Builder,
    Optimizer,
    Slot,
    Update,
    Value,
    descent,
    moving_average,
    with_l2,
    zeros,
)


@dataclass(frozen=True)
class RMSprop(Optimizer):
    """RMSprop (Tieleman and Hinton 2012; `centered`: Graves 2013, arXiv:1308.0850), as torch.optim.RMSprop.

        g = g + weight_decay * p
        square_avg = alpha * square_avg + (1 - alpha) * g^2
        grad_avg = alpha * grad_avg + (1 - alpha) * g                  # with centered
        g = g / (sqrt(square_avg - grad_avg^2) + eps)                  # without grad_avg unless centered
        momentum_buffer = momentum * momentum_buffer + g               # with momentum
        p = p - lr * momentum_buffer                                   # without momentum lr * g

    A difference square_avg - grad_avg^2 below 0, which is a rounding error, counts as 0; torch returns NaN.
    `maximize` negates the gradient first.
    """

    alpha: float = 0.99
    eps: float = 1e-8
    weight_decay: float = 0.0
    momentum: float = 0.0
    centered: bool = False
    maximize: bool = False

    def slots(self, parameter: TensorType) -> Mapping[str, Slot]:
        optional = {"grad_avg": self.centered, "momentum_buffer": bool(self.momentum)}
        return zeros(parameter, "square_avg", *(name for name, is_used in optional.items() if is_used))

    def update(
        self, p: Value, g: Value, state: Mapping[str, Value], lr: Value, step: Value, e: Builder
    ) -> Update:
        g = with_l2(descent(g, self.maximize), p, self.weight_decay)
        new = {"square_avg": moving_average(state["square_avg"], g.square(), self.alpha)}
        variance = new["square_avg"]
        if self.centered:
            new["grad_avg"] = moving_average(state["grad_avg"], g, self.alpha)
            variance = (variance - new["grad_avg"].square()).at_least(0)
        scaled = g / (variance.sqrt() + self.eps)
        if self.momentum:
            scaled = new["momentum_buffer"] = state["momentum_buffer"] * self.momentum + scaled
        return p - scaled * lr, new


@dataclass(frozen=True)
class Adagrad(Optimizer):
    """Adagrad (Duchi et al. 2011, JMLR 12), as torch.optim.Adagrad.

        g = g + weight_decay * p
        sum = sum + g^2
        p = p - lr / (1 + (step - 1) * lr_decay) * g / (sqrt(sum) + eps)

    `sum` starts with `initial_accumulator_value`. `maximize` negates the gradient first.
    """

    lr_decay: float = 0.0
    weight_decay: float = 0.0
    initial_accumulator_value: float = 0.0
    eps: float = 1e-10
    maximize: bool = False

    def slots(self, parameter: TensorType) -> Mapping[str, Slot]:
        return {"sum": Slot(parameter, self.initial_accumulator_value)}

    def update(
        self, p: Value, g: Value, state: Mapping[str, Value], lr: Value, step: Value, e: Builder
    ) -> Update:
        g = with_l2(descent(g, self.maximize), p, self.weight_decay)
        total = state["sum"] + g.square()
        if self.lr_decay:
            lr = lr / (1 + (step - 1).cast(p.dtype) * self.lr_decay)
        return p - g * lr / (total.sqrt() + self.eps), {"sum": total}
