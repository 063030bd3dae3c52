"""Activation functions of recurrent gates, with their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from dialects.onnx import ops as onnx
from dialects.onnx.recurrence import Activation
from passes.autodiff.common.primal import Forward
from passes.autodiff.rules.pointwise import RULES
from passes.builder.activations import activated, numbers_of
from passes.builder.values import Expr

_SLOPES: Mapping[str, Callable[[Expr, float, float], Expr | float]] = MappingProxyType(
    {
        "Affine": lambda x, a, b: a,
        "ScaledTanh": lambda x, a, b: (1 - (x * b).tanh().square()) * (a * b),
    }
)


@dataclass(frozen=True)
class Applied:
    """An activation of x, clipped first to [-bound, bound] if there is a bound."""

    activation: Activation
    x: Expr
    bound: float | None

    @cached_property
    def inner(self) -> Expr:
        return self.x if self.bound is None else self.x.clipped(-self.bound, self.bound)

    @cached_property
    def y(self) -> Expr:
        return activated(self.inner, self.activation)

    def slope(self, factor: Expr | None = None) -> Expr:
        """Return the derivative times a factor, in the shape of x."""
        e = self.x.e
        one = e.scalar(1, self.x) if factor is None else factor
        found = self._slope(one)
        if self.bound is not None:
            found = e.keep(found, self.inner.equals(self.x))
        return found if found.rank else found.apply(onnx.ExpandOp, e.shape(self.x))

    def _slope(self, factor: Expr) -> Expr:
        name, a, b = self.activation.name, self.activation.alpha, self.activation.beta
        if name in _SLOPES:
            return factor * _SLOPES[name](self.inner, a, b)
        forward = Forward(factor.e, [self.inner], numbers_of(self.activation), [self.y])
        found, *_ = RULES[name](forward, [factor], factor.e)
        assert isinstance(found, Expr)
        return found
