"""Factors of gated functions y = x gate(x), which their derivatives need, too."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

from xdsl.dialects.builtin import f64
from xdsl.ir import Operation

from dialects.onnx import ops as onnx
from passes.autodiff.common.primal import Primal
from passes.builder.values import Value

SATURATION = 30.0
"""Beyond this argument, tanh and erf are 1 in every dtype, and their derivatives 0."""


def hard_swish_gate(f: Primal) -> Value:
    """Return clip(x / 6 + 1/2, 0, 1); HardSigmoid's attributes are f32."""
    x = f.x
    if x.dtype == f64:
        return (x * (1 / 6) + 0.5).apply(onnx.HardSigmoidOp, alpha=1.0, beta=0.0)
    return x.apply(onnx.HardSigmoidOp, alpha=1 / 6, beta=0.5)


def mish_gate(f: Primal) -> Value:
    return mish_tanh(f.x)


def mish_tanh(x: Value) -> Value:
    """tanh(log(1 + exp x)) = n / (n + 2), n = u (u + 2), u = exp x, without overflow."""
    u = x.at_most(SATURATION).exp()
    n = u * (u + 2)
    return n / (n + 2)


def gelu_gate(f: Primal) -> Value:
    """The normal distribution function; for `tanh`, (1 + tanh u) / 2 = sigmoid(2 u), u its argument."""
    x = f.x.clip_to(-SATURATION, SATURATION)
    if f.value("approximate", "none") != "tanh":
        return (x * math.sqrt(0.5)).erf() * 0.5 + 0.5
    scale, cube = math.sqrt(2 / math.pi), 0.044715
    return (x * (x.square() * (2 * scale * cube) + 2 * scale)).sigmoid()


GATES: Mapping[type[Operation], Callable[[Primal], Value]] = MappingProxyType(
    {onnx.GeluOp: gelu_gate, onnx.HardSwishOp: hard_swish_gate, onnx.MishOp: mish_gate}
)
"""Ops y = x gate -> the gate, which the derivative needs, too."""
