# pyright: standard
# (lambdas in tables get their types from no annotation)
"""Activations that fused ops apply last."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from dialects.onnx import ops as onnx
from passes.autodiff.common.primal import refusal
from passes.builder.values import Value

_FUNCTIONS: Mapping[str, Callable[..., Value]] = MappingProxyType(
    {
        "": lambda x: x,
        "Clip": lambda x, low, high: x.clip_to(low, high),
        "Elu": lambda x, alpha=1.0: x.apply(onnx.EluOp, alpha=alpha),
        "HardSigmoid": lambda x, alpha, beta: x.apply(onnx.HardSigmoidOp, alpha=alpha, beta=beta),
        "HardSwish": lambda x: x.apply(onnx.HardSwishOp),
        "LeakyRelu": lambda x, alpha=0.01: x.apply(onnx.LeakyReluOp, alpha=alpha),
        "Relu": lambda x: x.apply(onnx.ReluOp),
        "Selu": lambda x, alpha, gamma: x.apply(onnx.SeluOp, alpha=alpha, gamma=gamma),
        "Sigmoid": lambda x: x.sigmoid(),
        "Softplus": lambda x: x.softplus(),
        "Softsign": lambda x: x.apply(onnx.SoftsignOp),
        "Tanh": lambda x: x.tanh(),
        "ThresholdedRelu": lambda x, alpha=1.0: x.apply(onnx.ThresholdedReluOp, alpha=alpha),
    }
)


def apply_activation(name: str, x: Value, numbers: Sequence[float] = ()) -> Value:
    function = _FUNCTIONS.get(name)
    if function is None:
        raise refusal("activation", given=name, expected=", ".join(filter(None, _FUNCTIONS)))
    return function(x, *numbers)


def numbers_of(attributes: Mapping[str, Any], *names: str) -> list[float]:
    return [attributes[name] for name in names if name in attributes]
