"""RMSprop and Adagrad."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType

from gradc.optim.base import (
    Builder,
    ElementwiseOptimizer,
    Slot,
    Update,
    Value,
    check_range,
    descent,
    scaled_average,
    with_l2,
    zeros,
)


@dataclass(frozen=True)
class RMSprop(ElementwiseOptimizer):
    """RMSprop (Tieleman and Hinton 2012; `centered`: Graves 2013, arXiv:1308.0850), as torch.optim.RMSprop.

        g = g + weight_decay * p
        square_avg = alpha * square_avg + (1 - alpha) * g^2
        grad_avg = alpha * grad_avg + (1 - alpha) * g                  # with centered
        g = g / (sqrt(square_avg - grad_avg^2) + eps)                  # without grad_avg unless centered
        momentum_buffer = momentum * momentum_buffer + g               # with momentum
        p = p - lr * momentum_buffer                                   # without momentum lr * g

    A difference square_avg - grad_avg^2 below 0, which is a rounding error, counts as 0; torch returns NaN.
    `maximize` negates the gradient first. The stored averages are those of the formula divided by 1 - alpha,
    the stored momentum_buffer is multiplied by sqrt(1 - alpha).
    """

    alpha: float = 0.99
    eps: float = 1e-8
    weight_decay: float = 0.0
    momentum: float = 0.0
    centered: bool = False
    maximize: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("RMSprop: alpha", self.alpha, 0, 1)

    def slots(self, parameter: TensorType) -> Mapping[str, Slot]:
        scale = 1 - self.alpha
        optional = {"grad_avg": scale} if self.centered else {}
        if self.momentum:
            optional["momentum_buffer"] = scale**-0.5
        return zeros(parameter, square_avg=scale, **optional)

    def update(
        self, p: Value, g: Value, state: Mapping[str, Value], lr: Value, step: Value, e: Builder
    ) -> Update:
        g, scale = with_l2(descent(g, self.maximize), p, self.weight_decay), 1 - self.alpha
        new = {"square_avg": scaled_average(state["square_avg"], g.square(), self.alpha)}
        variance = new["square_avg"]
        if self.centered:
            new["grad_avg"] = scaled_average(state["grad_avg"], g, self.alpha)
            variance = (variance - new["grad_avg"].square() * scale).at_least(0)
        direction = g / (variance.sqrt() + self.eps * scale**-0.5)
        if self.momentum:
            direction = state["momentum_buffer"] * self.momentum + direction
            new["momentum_buffer"] = direction
        return p - direction * (lr * scale**-0.5), new


@dataclass(frozen=True)
class Adagrad(ElementwiseOptimizer):
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
