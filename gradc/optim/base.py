"""Base class of the optimizers, the checks of their options, and shared formulas."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import cast

from xdsl.dialects.builtin import TensorType

from dialects.support.diagnostics import usage
from passes.builder.values import Builder, Value
from passes.training.optimizer import Slot

Update = tuple[Value, Mapping[str, Value]]
"""The new parameter and the new states."""


@dataclass(frozen=True)
class Optimizer(ABC):
    """The update of one parameter `p` from its gradient `g` and its states.

    Raises UsageError for an option out of range: numbers are at least 0, betas also below 1.
    """

    def __post_init__(self) -> None:
        for option in fields(self):
            given, what = vars(self)[option.name], f"{type(self).__name__}: {option.name}"
            if isinstance(option.default, bool):
                check_flag(what, given)
            elif isinstance(option.default, float):
                check_range(what, given, 0)
            elif isinstance(option.default, tuple):
                object.__setattr__(self, option.name, _pair(what, given))

    @property
    def is_elementwise(self) -> bool:
        """True if an element of a result depends on this element of the parameter, gradient and states only,
        and all states have the type of the parameter: large parameters are then updated in chunks."""
        return False

    @abstractmethod
    def slots(self, parameter: TensorType) -> Mapping[str, Slot]:
        """Return the states of a parameter of this type, by torch's names."""

    @abstractmethod
    def update(
        self, p: Value, g: Value, state: Mapping[str, Value], lr: Value, step: Value, e: Builder
    ) -> Update:
        """Return the new parameter and the new states. `lr` is a scalar of the dtype of `p`, `step` an int64
        scalar that counts from 1."""


class ElementwiseOptimizer(Optimizer):
    """An optimizer whose update is elementwise."""

    @property
    def is_elementwise(self) -> bool:
        return True


def check_range(what: str, given: object, low: float, high: float = math.inf) -> None:
    """Raise UsageError unless `given` is a number in [low, high)."""
    if isinstance(given, bool) or not isinstance(given, int | float) or not low <= given < high:
        expected = f"a number of at least {low:g}" + (f" and below {high:g}" if high < math.inf else "")
        raise usage(what, given, expected)


def check_count(what: str, given: object, low: int) -> None:
    """Raise UsageError unless `given` is an integer of at least `low`."""
    if isinstance(given, bool) or not isinstance(given, int) or given < low:
        raise usage(what, given, f"an integer of at least {low}")


def check_steps(what: str, given: object) -> None:
    """Raise UsageError unless `given` is a number of steps, whose default 0 stands for none."""
    if given == 0 and not isinstance(given, bool):
        raise usage(what, "none", f"a number of steps, as {what.rpartition(' ')[2]}=1000")
    check_count(what, given, 1)


def check_flag(what: str, given: object) -> None:
    """Raise UsageError unless `given` is True or False."""
    if not isinstance(given, bool):
        raise usage(what, given, "True or False")


def _pair(what: str, given: object) -> tuple[float, float]:
    pair = cast(Sequence[float], given)
    if not isinstance(given, tuple | list) or len(pair) != 2:
        raise usage(what, given, "two numbers")
    for one in pair:
        check_range(what, one, 0, 1)
    return pair[0], pair[1]


def zeros(parameter: TensorType, **scales: float) -> dict[str, Slot]:
    """Return states of the parameter's type that start with zeros, by name, given their scales."""
    return {name: Slot(parameter, scale=scale) for name, scale in scales.items()}


def descent(g: Value, maximize: bool) -> Value:
    """Return the gradient, negated to maximize."""
    return -g if maximize else g


def with_l2(g: Value, p: Value, weight_decay: float) -> Value:
    """Add the gradient of weight_decay / 2 * |p|^2."""
    return g + p * weight_decay if weight_decay else g


def decay(p: Value, lr: Value, weight_decay: float) -> Value:
    """Return p * (1 - lr * weight_decay), the decoupled weight decay."""
    return p * (1 - lr * weight_decay) if weight_decay else p


def scaled_average(old: Value, new: Value, beta: float) -> Value:
    """Return beta * old + new, the moving average beta * old + (1 - beta) * new divided by 1 - beta."""
    return old * beta + new


def bias_correction(beta: float, step: Value) -> Value:
    """Return 1 - beta^step for a float scalar `step`.

    With t = tanh(x / 2) of beta^step = e^-x this is 2 t / (1 + t), which does not cancel for beta near 1.
    """
    if beta == 0:
        return step.e.scalar(1, step)
    t = (step * (-math.log(beta) / 2)).tanh()
    return t * 2 / (t + 1)
