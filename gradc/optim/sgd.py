"""Stochastic gradient descent with momentum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType

from dialects.support.diagnostics import usage
from gradc.optim.base import Builder, ElementwiseOptimizer, Slot, Update, Value, descent, with_l2, zeros


@dataclass(frozen=True)
class SGD(ElementwiseOptimizer):
    """Stochastic gradient descent, as torch.optim.SGD.

        g = g + weight_decay * p
        momentum_buffer = momentum * momentum_buffer + (1 - dampening) * g    # in the first step g
        g = g + momentum * momentum_buffer if nesterov else momentum_buffer
        p = p - lr * g

    Without momentum there is no state, and the two middle lines are left out. `maximize` negates the gradient
    first.
    """

    momentum: float = 0.0
    dampening: float = 0.0
    weight_decay: float = 0.0
    nesterov: bool = False
    maximize: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nesterov and (self.momentum == 0 or self.dampening != 0):
            given = f"momentum={self.momentum:g}, dampening={self.dampening:g}"
            raise usage("SGD: nesterov", given, "a momentum above 0 and no dampening")

    def slots(self, parameter: TensorType) -> Mapping[str, Slot]:
        return zeros(parameter, momentum_buffer=1) if self.momentum else {}

    def update(
        self, p: Value, g: Value, state: Mapping[str, Value], lr: Value, step: Value, e: Builder
    ) -> Update:
        g = with_l2(descent(g, self.maximize), p, self.weight_decay)
        if not self.momentum:
            return p - g * lr, {}
        buffer = state["momentum_buffer"] * self.momentum + self._increment(g, step)
        used = g + buffer * self.momentum if self.nesterov else buffer
        return p - used * lr, {"momentum_buffer": buffer}

    def _increment(self, g: Value, step: Value) -> Value:
        if not self.dampening:
            return g
        is_first = step.equals(1)
        return g * is_first.where(step.e.scalar(1, g), 1 - self.dampening)
