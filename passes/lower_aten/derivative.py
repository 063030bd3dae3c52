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
    return pull_back_results([result], [cotangent], wanted)


def pull_back_results(
    results: Sequence[Value], cotangents: Sequence[Value | None], wanted: Sequence[int]
) -> list[Value]:
    """Return the gradients of operands of an op of several results; an unused one has the cotangent None."""
    op, e = results[0].value.owner, results[0].e
    assert isinstance(op, OnnxOp)
    primal = Primal.of(op, e)
    primal.wanted = wanted
    primal.read = [index for index, cotangent in enumerate(cotangents) if cotangent is not None]
    # the rule does not read the cotangents of unused results
    given = [y if cotangent is None else cotangent for y, cotangent in zip(results, cotangents, strict=True)]
    found = onnx_rule(op)(primal, given, e)
    return [_dense(found[index], primal.required(index)) for index in wanted]


def _dense(gradient: Value | Zero, operand: Value) -> Value:
    return operand.e.fill_like(0, operand) if isinstance(gradient, Zero) else gradient
