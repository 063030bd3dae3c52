"""Remarks on losses of values that are probably others than the loss takes: the step would train wrongly."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.support.diagnostics import Diagnostic, sentence
from dialects.support.names import name_of_value
from dialects.support.option_names import advice
from gradc.losses.base import LOG_PROBABILITIES, LOGITS, Loss
from passes.autodiff.named_values import values_by_name
from passes.training.attach_loss import Term

PROBABILITIES = (onnx.SoftmaxOp, onnx.SigmoidOp, onnx.HardSigmoidOp)
PRODUCTS = (onnx.MatMulOp, onnx.GemmOp, onnx.ConvOp)
VIEWS = (
    *(onnx.IdentityOp, onnx.CastOp, onnx.ReshapeOp, onnx.FlattenOp, onnx.TransposeOp),
    *(onnx.SqueezeOp, onnx.UnsqueezeOp),
)
"""Ops whose results have the elements of the first operand."""


def value_remarks(function: FuncOp, terms: Sequence[Term]) -> list[Diagnostic]:
    """Return remarks on losses of logits that read probabilities, and on losses of log-probabilities that
    read logits or probabilities."""
    values = values_by_name(function)
    return [
        Diagnostic("remark", text)
        for term in terms
        if isinstance(term.loss, Loss)
        for name in term.of
        if name in values and (text := _remark(term.loss, name, values[name]))
    ]


def _remark(loss: Loss, name: str, value: SSAValue) -> str:
    op = _source(value)
    kind = "" if op is None else op.name.removeprefix("onnx.")
    what = f"{loss.title} reads {name}, a result of {kind}, but takes {loss.SCORES}"
    if loss.SCORES == LOGITS and isinstance(op, PROBABILITIES):
        logits = name_of_value(op.operands[0])
        hint = (
            advice("of", "reads the logits", logits)
            if logits
            else advice("of", f"names the logits, the operand of {kind}")
        )
        return sentence(what, hint=hint)
    if loss.SCORES == LOG_PROBABILITIES and isinstance(op, (*PROBABILITIES, *PRODUCTS)):
        others = {"NLL": "CrossEntropy takes logits"}
        hint = "" if isinstance(op, PROBABILITIES) else others.get(loss.title, "")
        return sentence(what, hint=hint or "LogSoftmax computes them")
    return ""


def _source(value: SSAValue) -> Operation | None:
    """Return the op that computes the elements of a value, but for added biases; None for an input."""
    op = value.owner
    while isinstance(op, (*VIEWS, onnx.AddOp)):
        read = op.operands[:1] if isinstance(op, VIEWS) else _computed(op)
        if len(read) != 1:
            return op
        op = read[0].owner
    return op if isinstance(op, Operation) else None


def _computed(op: Operation) -> list[SSAValue]:
    return [one for one in op.operands if not isinstance(one.owner, onnx.ConstantOp)]
