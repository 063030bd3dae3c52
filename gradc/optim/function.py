"""A user's function as optimizer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects.builtin import TensorType

from dialects.support.diagnostics import several, usage
from dialects.support.shapes import show
from gradc.optim.base import Builder, Optimizer, Slot, Update, Value
from passes.training.optimizer import EMA, MASTER


@dataclass(frozen=True)
class Function(Optimizer):
    """An optimizer that a function of `gradc.ops` values defines.

        def heavy_ball(p, g, state, lr, step):
            v = 0.9 * state["v"] + g
            return p - lr * v, {"v": v}

        gradc.optim.Function(heavy_ball, state={"v": 0.0})

    `state`: name -> initial value of all elements, or None for that of the parameter. States have the shape
    of the parameter. `lr` is a scalar of the dtype of `p`, `step` an int64 scalar that counts from 1. Without
    states the function may return the new parameter alone.
    """

    function: Callable[..., Any]
    state: Mapping[str, float | None] = field(default_factory=dict[str, float | None])

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise usage("Function: function", self.function, "a function of p, g, state, lr and step")
        for name in self.state:
            if name in (EMA, MASTER) or not name.isidentifier():
                expected = f"an identifier other than {EMA} and {MASTER}"
                raise usage("Function: the name of a state", name, expected)

    def slots(self, parameter: TensorType) -> Mapping[str, Slot]:
        return {name: Slot(parameter, fill) for name, fill in self.state.items()}

    def update(
        self, p: Value, g: Value, state: Mapping[str, Value], lr: Value, step: Value, e: Builder
    ) -> Update:
        found = self.function(p, g, state, lr, step)
        pair: object = (found, {}) if isinstance(found, Value) else found
        if not isinstance(pair, tuple) or len(cast(tuple[object, ...], pair)) != 2:
            raise self._error("the result", type(found).__name__, "the new parameter and a mapping of states")
        new, states = cast(tuple[Any, Mapping[str, Any]], pair)
        self._check("the new parameter", new, p)
        if set(states) != set(self.state):
            raise self._error("the new states", several(list(states)) or "none", several(list(self.state)))
        for name, value in states.items():
            self._check(f"the new state {name}", value, p)
        return new, states

    def _check(self, what: str, given: object, p: Value) -> None:
        expected = f"{p.dtype} {show(p.shape)}"
        if not isinstance(given, Value):
            raise self._error(what, type(given).__name__, f"a Value, {expected}")
        if given.dtype != p.dtype or given.shape != p.shape:
            raise self._error(what, f"{given.dtype} {show(given.shape)}", expected)

    def _error(self, what: str, given: str, expected: str):
        name = getattr(self.function, "__name__", "function")
        return usage(f"{what} of the optimizer {name}", given, expected)
