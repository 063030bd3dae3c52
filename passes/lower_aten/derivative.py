"""Backward ops of ATen by the VJP rules of the ONNX ops that compute their forward ops."""

from __future__ import annotations

from collections.abc import Sequence

from dialects.onnx.base import OnnxOp
from passes.autodiff.common.primal import Primal, Zero
from passes.autodiff.vjp import onnx_rule
from passes.builder.values import Value


def pull_back(result: Value, cotangent: Value, wanted: Sequence[int] = (0,)) -> list[Value]:
    """Return the gradients of the operands `wanted` of the op that computes `result`.

    The op is a new one, such as `onnx.Gelu` of the input of `gelu_backward`. If the rule does not read its
    result, it is dead code, which simplify erases.
    """
    op = result.value.owner
    assert isinstance(op, OnnxOp)
    primal = Primal.of(op, result.e)
    primal.wanted = wanted
    found = onnx_rule(op)(primal, [cotangent], result.e)
    return [_dense(found[index], primal.required(index)) for index in wanted]


def _dense(gradient: Value | Zero, operand: Value) -> Value:
    return operand.e.fill_like(0, operand) if isinstance(gradient, Zero) else gradient
