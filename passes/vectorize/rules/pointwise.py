"""Batching rules of pointwise ops: operands broadcast, so the new axis only has to come first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from dialects.grad.stop_gradient import StopGradientOp
from dialects.onnx import ops as onnx
from dialects.onnx import traits
from passes.vectorize.batch import Batch, BatchingRule, OpCall, Result, Unbatched


def pointwise(f: OpCall, b: Batch) -> Sequence[Result] | None:
    if len(f.present) == 1:
        return f.along(b)
    if not all(x.has_rank for x in f.present):
        return None
    rank = max(x.rank for x in f.present)
    return f.again(b, [None if x is None else b.align(x, rank) for x in f.operands])


def first_operand(f: OpCall, b: Batch) -> Sequence[Result] | None:
    """Rule of ops that are pointwise in the first operand; the others are scalars."""
    return f.along(b) if f.only_batched(0) else None


def cast_like(f: OpCall, b: Batch) -> Sequence[Result] | None:
    """The second operand only gives a type."""
    found = f.along(b)
    return found if f.present[0].batched else [Unbatched(x) for x in found]


def clip(f: OpCall, b: Batch) -> Sequence[Result] | None:
    """Clip, or Max and Min for bounds that differ between rows."""
    if f.only_batched(0):
        return f.along(b)
    data, low, high = (*f.operands, None, None)[:3]
    assert data is not None
    if not all(x.has_rank for x in f.present):
        return None
    found = b.expand(data)
    for bound, op in ((low, onnx.MaxOp), (high, onnx.MinOp)):
        if bound is not None:
            found = b.e(b.e.emit(op([found.value, b.align(bound, data.rank).value])))
    return [found]


def stop_gradient(f: OpCall, b: Batch) -> Sequence[Result]:
    stop = StopGradientOp(f.present[0].value.value)
    stop.attributes |= f.op.attributes
    return [b.e(b.e.emit(stop))]


def prelu(f: OpCall, b: Batch) -> Sequence[Result] | None:
    """The slope must broadcast to the data, and not the other way."""
    data, slope = f.present
    if not data.has_rank or not slope.has_rank:
        return None
    return f.again(b, [b.expand(data), b.align(slope, data.rank)])


RULES: Mapping[str, BatchingRule] = MappingProxyType(
    {
        **dict.fromkeys((*traits.POINTWISE - {"BitCast"}, "Identity"), pointwise),
        **dict.fromkeys(("Bernoulli", "Dropout"), first_operand),
        "CastLike": cast_like,
        "Clip": clip,
        "PRelu": prelu,
        StopGradientOp.name: stop_gradient,
    }
)
