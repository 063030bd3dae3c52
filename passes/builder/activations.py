"""Activation functions of the gates of LSTM, GRU and RNN, as ONNX ops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from dialects.onnx import ops as onnx
from dialects.onnx.recurrence import Activation
from passes.builder.values import Value

_OPS: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "Elu": ("alpha",),
        "HardSigmoid": ("alpha", "beta"),
        "LeakyRelu": ("alpha",),
        "Relu": (),
        "Sigmoid": (),
        "Softplus": (),
        "Softsign": (),
        "Tanh": (),
        "ThresholdedRelu": ("alpha",),
    }
)
"""Activations that are ONNX ops, with the attributes that they read."""


def _affine(x: Value, alpha: float, beta: float) -> Value:
    """Return alpha x + beta without `* 1` and `+ 0`, next to which onnxruntime makes invalid models."""
    scaled = x if alpha == 1 else x * alpha
    return scaled if beta == 0 else scaled + beta


_COMPOSED: Mapping[str, Callable[[Value, float, float], Value]] = MappingProxyType(
    {
        "Affine": _affine,
        "ScaledTanh": lambda x, a, b: _affine(_affine(x, b, 0).tanh(), a, 0),
    }
)


def apply_activation(x: Value, activation: Activation) -> Value:
    """Apply an activation function to x."""
    if activation.name in _COMPOSED:
        return _COMPOSED[activation.name](x, activation.alpha, activation.beta)
    return x.apply(getattr(onnx, f"{activation.name}Op"), **numbers_of(activation))


def numbers_of(activation: Activation) -> dict[str, float]:
    """Return the attributes of the ONNX op that implements an activation."""
    both = {"alpha": activation.alpha, "beta": activation.beta}
    return {name: both[name] for name in _OPS[activation.name]}
