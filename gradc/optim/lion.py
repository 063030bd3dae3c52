"""Lion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType, f64

from dialects.onnx import ops as onnx
from gradc.optim.base import (
    Builder,
    ElementwiseOptimizer,
    Slot,
    Update,
    Value,
    decay,
    descent,
    zeros,
)


@dataclass(frozen=True)
class Lion(ElementwiseOptimizer):
    """Lion (Chen et al. 2023, arXiv:2302.06675). torch.optim has no counterpart.

        p = p * (1 - lr * weight_decay)
        p = p - lr * sign(betas[0] * exp_avg + (1 - betas[0]) * g)
        exp_avg = betas[1] * exp_avg + (1 - betas[1]) * g

    Subnormal arguments of sign give a smaller step. `maximize` negates the gradient first. The stored state
    is exp_avg / (1 - betas[1]).
    """

    betas: tuple[float, float] = (0.9, 0.99)
    weight_decay: float = 0.0
    maximize: bool = False

    def slots(self, parameter: TensorType) -> Mapping[str, Slot]:
        return zeros(parameter, exp_avg=1 - self.betas[1])

    def update(
        self, p: Value, g: Value, state: Mapping[str, Value], lr: Value, step: Value, e: Builder
    ) -> Update:
        g, (first, second) = descent(g, self.maximize), self.betas
        kept, factor = (
            state["exp_avg"] * second,
            first * (1 - second) / (1 - first),
        )  # one reader of the state
        direction = kept * (factor / second) + g if second else state["exp_avg"] * factor + g
        p = decay(p, lr, self.weight_decay) - _sign_times(direction, lr)
        return p, {"exp_avg": kept + g}


def _sign_times(x: Value, factor: Value) -> Value:
    """Return sign(x) * factor for a factor of at least 0, by a Clip: the kernel of Sign is slow."""
    huge = 1e308 if x.dtype == f64 else 3e38
    return (x * huge).apply(onnx.ClipOp, -factor, factor)
