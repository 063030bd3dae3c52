"""Activation functions of recurrent gates, with their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from dialects.onnx import ops as onnx
from dialects.onnx.recurrence import Activation
from passes.autodiff.common.primal import Primal
from passes.autodiff.rules.pointwise import RULES
from passes.builder.activations import apply_activation, numbers_of
from passes.builder.values import Value

_SLOPES: Mapping[str, Callable[[Value, float, float], Value | float]] = MappingProxyType(
    {
        "Affine": lambda x, a, b: a,
        "ScaledTanh": lambda x, a, b: (1 - (x * b).tanh().square()) * (a * b),
    }
)


@dataclass(frozen=True)
class Applied:
    """An activation of x, clipped first to [-bound, bound] if there is a bound."""

    activation: Activation
    x: Value
    bound: float | None

    @cached_property
    def inner(self) -> Value:
        return self.x if self.bound is None else self.x.clip_to(-self.bound, self.bound)

    @cached_property
    def y(self) -> Value:
        return apply_activation(self.inner, self.activation)

    def slope(self, factor: Value | None = None) -> Value:
        """Return the derivative times a factor, in the shape of x."""
        e = self.x.e
        one = e.scalar(1, self.x) if factor is None else factor
        found = self._slope(one)
        if self.bound is not None:
            found = e.keep(found, self.inner.equals(self.x))
        return found if found.rank else found.apply(onnx.ExpandOp, e.shape(self.x))

    def _slope(self, factor: Value) -> Value:
        name, a, b = self.activation.name, self.activation.alpha, self.activation.beta
        if name in _SLOPES:
            return factor * _SLOPES[name](self.inner, a, b)
        forward = Primal(factor.e, [self.inner], numbers_of(self.activation), [self.y])
        found, *_ = RULES[name](forward, [factor], factor.e)
        assert isinstance(found, Value)
        return found
