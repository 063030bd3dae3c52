"""Base class of the optimizers, the checks of their options, and shared formulas."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import TensorType

from dialects.support.diagnostics import usage
from passes.builder.values import Value
from passes.builder.values import ValueBuilder as Builder
from passes.training.write_optimizer import Slot

Update = tuple[Value, Mapping[str, Value]]
"""The new parameter and the new states."""


@dataclass(frozen=True)
class Optimizer(ABC):
    """The update of one parameter `p` from its gradient `g` and its states."""

    @abstractmethod
    def slots(self, parameter: TensorType) -> Mapping[str, Slot]:
        """Return the states of a parameter of this type, by torch's names."""

    @abstractmethod
    def update(
        self, p: Value, g: Value, state: Mapping[str, Value], lr: Value, step: Value, e: Builder
    ) -> Update:
        """Return the new parameter and the new states. `lr` is a scalar of the dtype of `p`, `step` an int64
        scalar that counts from 1."""

    def check_range(self, name: str, low: float, high: float = math.inf) -> None:
        """Raise UsageError unless the option `name` is a number in [low, high)."""
        check_range(f"{type(self).__name__}: {name}", getattr(self, name), low, high)

    def check_betas(self) -> None:
        """Raise UsageError unless the option `betas` is a pair of numbers in [0, 1); make it a tuple."""
        given: object = vars(self)["betas"]
        what = f"{type(self).__name__}: betas"
        if not isinstance(given, tuple | list) or len(cast(Sequence[object], given)) != 2:
            raise usage(what, given, "two numbers")
        for beta in cast(Sequence[object], given):
            check_range(what, beta, 0, 1)
        object.__setattr__(self, "betas", tuple(cast(Sequence[object], given)))


def check_range(what: str, given: object, low: float, high: float = math.inf) -> None:
    """Raise UsageError unless `given` is a number in [low, high)."""
    if isinstance(given, bool) or not isinstance(given, int | float) or not low <= given < high:
        expected = f"a number of at least {low:g}" + (f" and below {high:g}" if high < math.inf else "")
        raise usage(what, given, expected)


def zeros(parameter: TensorType, *names: str) -> dict[str, Slot]:
    """Return states of the parameter's type that start with zeros."""
    return {name: Slot(parameter) for name in names}


def descent(g: Value, maximize: bool) -> Value:
    """Return the gradient, negated to maximize."""
    return -g if maximize else g


def with_l2(g: Value, p: Value, weight_decay: float) -> Value:
    """Add the gradient of weight_decay / 2 * |p|^2."""
    return g + p * weight_decay if weight_decay else g


def moving_average(old: Value, new: Value, decay: float) -> Value:
    """Return decay * old + (1 - decay) * new."""
    return old * decay + new * (1 - decay)


def bias_correction(beta: float, step: Value) -> Value:
    """Return 1 - beta^step for a float scalar `step`.

    With t = tanh(x / 2) of beta^step = e^-x this is 2 t / (1 + t), which does not cancel for beta near 1.
    """
    if beta == 0:
        return step.e.scalar(1, step)
    t = (step * (-math.log(beta) / 2)).tanh()
    return t * 2 / (t + 1)
