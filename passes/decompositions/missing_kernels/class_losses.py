"""Losses of class labels as LogSoftmax and GatherElements.

onnxruntime inlines ONNX's function bodies, which reshape the scores to rank 3: up to twice the time.
"""

from __future__ import annotations

from xdsl.dialects.builtin import i64

from dialects.onnx import ops as onnx
from dialects.support.shapes import has_rank
from passes.autodiff.common.primal import Primal
from passes.builder.values import Builder, Value
from passes.decompositions.registry import Results


def negative_log_likelihood(f: Primal, e: Builder) -> Results | None:
    op = f.op_as(onnx.NegativeLogLikelihoodLossOp)
    return [_loss(f, f.x).value] if has_rank(op.input) else None


def softmax_cross_entropy(f: Primal, e: Builder) -> Results | None:
    op = f.op_as(onnx.SoftmaxCrossEntropyLossOp)
    if not has_rank(op.scores):
        return None
    logarithms = f.x.apply(onnx.LogSoftmaxOp, axis=1)
    return [_loss(f, logarithms).value, logarithms.value]


def _loss(f: Primal, logarithms: Value) -> Value:
    """Return the loss of log-probabilities [N, C, ...]; labels of weight 0 add 0, also to infinite losses."""
    labels, ignored, weights = f.required(1), f.value("ignore_index"), f.operand(2)
    indices, counted = labels.cast(i64), None
    if ignored is not None:
        counted = labels.equals(ignored).apply(onnx.NotOp)
        indices = counted.where(indices, 0)
    found = -logarithms.apply(onnx.GatherElementsOp, indices.unsqueeze([1]), axis=1).squeeze([1])
    shares = None if weights is None else weights.apply(onnx.GatherOp, indices, axis=0)
    if counted is not None:
        shares = counted.cast(found.dtype) if shares is None else counted.where(shares, 0)
    if shares is not None:
        found = shares.equals(0).where(f.e.scalar(0, found), found * shares)
    match f.value("reduction", "mean"):
        case "none":
            return found
        case "sum":
            return found.apply(onnx.ReduceSumOp, keepdims=0)
        case _ if shares is None:
            return found.apply(onnx.ReduceMeanOp, keepdims=0)
        case _:
            return found.apply(onnx.ReduceSumOp, keepdims=0) / shares.apply(onnx.ReduceSumOp, keepdims=0)
