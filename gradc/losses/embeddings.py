"""Losses of distances between vectors, which lie along the last axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import TensorType, i64

from dialects.onnx import ops as onnx
from dialects.support.shapes import compatible, shape_of, show, tensor_type
from gradc.losses.base import REDUCTIONS, Loss, reduce_all, wide
from gradc.ops import Builder, Value

NORM_EPSILON = 1e-12
"""Number that torch adds to squared norms in CosineEmbeddingLoss."""

LARGEST_P = 100.0
"""Largest p of a norm: powers of larger ones leave the range of float32."""


@dataclass(frozen=True)
class VectorLoss(Loss):
    """Base of losses of vectors of one shape."""

    def check_vectors(self, of: Sequence[TensorType]) -> None:
        """Raise UsageError unless the values are vectors of the same type and shape."""
        self.check_values(of)
        first = of[0]
        if not shape_of(first):
            raise self.error("of vectors", "[]", "an axis of the elements of a vector")
        for other in of[1:]:
            same = first.element_type == other.element_type
            if not same or not compatible(shape_of(first), shape_of(other)):
                given = f"{first.element_type} {show(shape_of(first))} and {other.element_type}"
                raise self.error("of vectors", f"{given} {show(shape_of(other))}", "one type and shape")


@dataclass(frozen=True)
class Cosine(VectorLoss):
    """Cosine distance of vectors; torch.nn.CosineEmbeddingLoss.

    With c the cosine of the vectors, the loss is 1 - c for the label 1, max(c - margin, 0) for -1, and 0 for
    other labels. torch's 1e-12 is added to the squared norms.

    Two values: vectors [N, D] or [D]; label: int64 without the axis of the vectors, 1 or -1. One value:
    vectors; label: floats of their type and shape, the vectors that they should point along.
    """

    READS: ClassVar[tuple[int, ...]] = (1, 2)

    margin: float = 0.0
    reduction: str = "mean"

    def __post_init__(self) -> None:
        self.check_number("margin", -1, 1)
        self.check_choice("reduction", REDUCTIONS)

    def labels(self, of: Sequence[TensorType]) -> Mapping[str, TensorType]:
        self.check_vectors(of)
        if len(of) == 2:
            return {"label": tensor_type(i64, shape_of(of[0])[:-1])}
        if self.margin:
            hint = "one value has no negative pairs; name two values"
            raise self.error("margin", f"{self.margin:g} with one value", hint=hint)
        return {"label": of[0]}

    def write(self, of: Sequence[Value], labels: Mapping[str, Value], e: Builder) -> Value:
        if len(of) == 1:
            return reduce_all(1 - _cosine(wide(of[0]), wide(labels["label"])), self.reduction)
        label, cosine = labels["label"], _cosine(wide(of[0]), wide(of[1]))
        apart = label.equals(-1).where((cosine - self.margin).at_least(0), 0)
        return reduce_all(label.equals(1).where(1 - cosine, apart), self.reduction)


@dataclass(frozen=True)
class Triplet(VectorLoss):
    """Triplet loss max(d(a, p) - d(a, n) + margin, 0); torch.nn.TripletMarginLoss.

    d(u, v) is the p-norm of u - v + eps. With `swap` d(a, n) is the lesser of d(a, n) and d(p, n).

    Three values: anchors a, positives p and negatives n, [N, D] or [D] each; no label. One value: anchors;
    labels `positive` and `negative`: floats of their type and shape.
    """

    READS: ClassVar[tuple[int, ...]] = (1, 3)

    margin: float = 1.0
    p: float = 2.0
    eps: float = 1e-6
    swap: bool = False
    reduction: str = "mean"

    def __post_init__(self) -> None:
        self.check_number("margin", 0, open_low=True)
        self.check_number("p", 1, LARGEST_P)
        self.check_number("eps", 0)
        self.check_flag("swap")
        self.check_choice("reduction", REDUCTIONS)

    def labels(self, of: Sequence[TensorType]) -> Mapping[str, TensorType]:
        self.check_vectors(of)
        return {} if len(of) == 3 else {"positive": of[0], "negative": of[0]}

    def write(self, of: Sequence[Value], labels: Mapping[str, Value], e: Builder) -> Value:
        three = of if len(of) == 3 else (of[0], labels["positive"], labels["negative"])
        anchor, positive, negative = map(wide, three)
        apart = self._distance(anchor, negative)
        if self.swap:
            apart = apart.at_most(self._distance(positive, negative))
        near = self._distance(anchor, positive)
        return reduce_all((near - apart + self.margin).at_least(0), self.reduction)

    def _distance(self, a: Value, b: Value) -> Value:
        difference = a - b + self.eps
        axes = a.e.ints([a.rank - 1])
        if self.p in (1, 2):
            return difference.apply(onnx.ReduceL1Op if self.p == 1 else onnx.ReduceL2Op, axes, keepdims=0)
        powers = difference.abs() ** self.p
        return powers.apply(onnx.ReduceSumOp, axes, keepdims=0) ** (1 / self.p)


def _cosine(a: Value, b: Value) -> Value:
    axes = [a.rank - 1]
    norms = [x.square().sum_axes(axes) + NORM_EPSILON for x in (a, b)]
    return (a * b).sum_axes(axes) / (norms[0] * norms[1]).sqrt()
