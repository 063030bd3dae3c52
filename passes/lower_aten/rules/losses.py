"""Elementwise losses and their gradients, with torch's reductions: 0 none, 1 the mean, 2 the sum."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from dialects.shapes.forms import Form
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call, Rule

NONE, MEAN, SUM = range(3)

Formula = Callable[[Call, Value, Value], Value]
"""Writes the losses, or their derivatives with respect to `self`, of `self` and `target`."""


def reduce(f: Call, losses: Value, sizes: Sequence[Form]) -> Value:
    """Return losses of these sizes, or their mean or sum."""
    if f.reduction == NONE or (f.reduction == MEAN and not losses.rank):
        return losses
    total = losses.sum_axes(range(losses.rank)) if losses.rank else losses
    return total if f.reduction == SUM else total / f.number(_count(sizes), losses.dtype)


def _count(sizes: Sequence[Form]) -> Form:
    return math.prod(sizes, start=1)


def _joint(f: Call, x: Value, y: Value) -> list[Form]:
    """Return the sizes of both operands, which broadcast."""
    wide, other = (x, y) if x.rank >= y.rank else (y, x)
    sizes = [size for size in wide.shape if size is not None]
    for axis, size in enumerate(reversed([size for size in other.shape if size is not None]), 1):
        if sizes[-axis] == 1:
            sizes[-axis] = size
    return sizes


def loss(formula: Formula) -> Rule:
    """Return the rule of a loss."""

    def rule(f: Call, e: Builder) -> Value:
        x, y = f.self.cast(f.dtype), f.target.cast(f.dtype)
        return reduce(f, formula(f, x, y), _joint(f, x, y))

    return rule


def loss_backward(derivative: Formula) -> Rule:
    """Return the rule of a loss's gradient with respect to `self`."""

    def rule(f: Call, e: Builder) -> Value:
        x, y, g = f.self.cast(f.dtype), f.target.cast(f.dtype), f.grad_output
        if f.reduction == MEAN:
            g = g / f.number(_count(_joint(f, x, y)), g.dtype)
        return g * derivative(f, x, y)

    return rule


def _square(f: Call, x: Value, y: Value) -> Value:
    return (x - y).square()


def _square_slope(f: Call, x: Value, y: Value) -> Value:
    return (x - y) * 2


def _smooth_l1(f: Call, x: Value, y: Value) -> Value:
    """d^2 / (2 beta) below beta, |d| - beta / 2 beyond."""
    distance, beta = (x - y).abs(), f.beta
    if beta == 0:
        return distance
    return (distance < beta).where(distance.square() * (0.5 / beta), distance - 0.5 * beta)


def _smooth_l1_slope(f: Call, x: Value, y: Value) -> Value:
    difference = x - y
    return difference.sign() if f.beta == 0 else (difference * (1 / f.beta)).clip_to(-1, 1)


def _huber(f: Call, x: Value, y: Value) -> Value:
    """d^2 / 2 up to delta, delta (|d| - delta / 2) beyond."""
    distance, delta = (x - y).abs(), f.delta
    return (distance <= delta).where(distance.square() * 0.5, (distance - 0.5 * delta) * delta)


def _huber_slope(f: Call, x: Value, y: Value) -> Value:
    return (x - y).clip_to(-f.delta, f.delta)


def _soft_margin(f: Call, x: Value, y: Value) -> Value:
    return (-(x * y)).softplus()


def _soft_margin_slope(f: Call, x: Value, y: Value) -> Value:
    return -(y * (-(x * y)).sigmoid())


# Cross-entropy of two classes


def _times_weight(f: Call, losses: Value) -> Value:
    return losses * f.weight if f.has("weight") else losses


def _cross_entropy(f: Call, x: Value, y: Value) -> Value:
    """-(y log x + (1 - y) log(1 - x)), logarithms of at least -100."""
    yes, no = (part.log().at_least(-100) for part in (x, 1 - x))
    return _times_weight(f, (y - 1) * no - y * yes)


def _cross_entropy_slope(f: Call, x: Value, y: Value) -> Value:
    return _times_weight(f, (x - y) / ((1 - x) * x).at_least(1e-12))


def cross_entropy_with_logits(f: Call, e: Builder) -> Value:
    """(1 - y) x + (1 + (p - 1) y) softplus(-x) for the weight p of the positive class."""
    x, y = f.self.cast(f.dtype), f.target.cast(f.dtype)
    smooth = (-x).softplus()
    if f.has("pos_weight"):
        smooth = ((f.pos_weight.cast(f.dtype) - 1) * y + 1) * smooth
    losses = _times_weight(f, (1 - y) * x + smooth)
    return reduce(f, losses, [size for size in f.self.shape if size is not None])


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "binary_cross_entropy.default": loss(_cross_entropy),
        "binary_cross_entropy_backward.default": loss_backward(_cross_entropy_slope),
        "binary_cross_entropy_with_logits.default": cross_entropy_with_logits,
        "huber_loss.default": loss(_huber),
        "huber_loss_backward.default": loss_backward(_huber_slope),
        "mse_loss.default": loss(_square),
        "mse_loss_backward.default": loss_backward(_square_slope),
        "smooth_l1_loss.default": loss(_smooth_l1),
        "smooth_l1_loss_backward.default": loss_backward(_smooth_l1_slope),
        "soft_margin_loss.default": loss(_soft_margin),
        "soft_margin_loss_backward.default": loss_backward(_soft_margin_slope),
    }
)
