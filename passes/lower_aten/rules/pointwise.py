"""Elementwise ops."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from passes.builder.values import Value, ValueBuilder
from passes.lower_aten.call import Call, Rule
from passes.lower_aten.derivative import pull_back


def unary(op: type[OnnxOp]) -> Rule:
    """Return the rule of an op with one ONNX op, at the dtype of the result."""
    return lambda f, e: f.self.cast(f.dtype).apply(op)


def add(f: Call, e: ValueBuilder) -> Value:
    """self + alpha * other."""
    other = f.operand(f.other, f.dtype)
    return f.self.cast(f.dtype) + (other if f.alpha == 1 else other * f.number(f.alpha, f.dtype))


def multiply(f: Call, e: ValueBuilder) -> Value:
    return f.self.cast(f.dtype) * f.operand(f.other, f.dtype)


def tanh_backward(f: Call, e: ValueBuilder) -> Value:
    return f.grad_output * (1 - f.output * f.output)


def silu_backward(f: Call, e: ValueBuilder) -> Value:
    sigmoid = f.self.sigmoid()
    return f.grad_output * sigmoid * (1 + f.self * (1 - sigmoid))


def gelu_backward(f: Call, e: ValueBuilder) -> Value:
    (gradient,) = pull_back(f.self.apply(onnx.GeluOp, approximate=f.approximate), f.grad_output)
    return gradient


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "add.Tensor": add,
        "add.Scalar": add,
        "mul.Tensor": multiply,
        "mul.Scalar": multiply,
        "tanh.default": unary(onnx.TanhOp),
        "tanh_backward.default": tanh_backward,
        "sin.default": unary(onnx.SinOp),
        "cos.default": unary(onnx.CosOp),
        "silu_backward.default": silu_backward,
        "gelu_backward.default": gelu_backward,
    }
)
