"""Shared parts of the VJP rules of LSTM, GRU and RNN: one direction, all steps at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from dialects.onnx import ops as onnx
from dialects.onnx.dims import TO_THE_END
from dialects.onnx.recurrence import Direction
from passes.autodiff.common.slice_adjoint import is_known, size_of, vector
from passes.autodiff.rules.activations import Applied
from passes.builder.scans import Exprs, scan
from passes.builder.values import Builder, Value

X, W, R, B, LENGTHS, FIRST_H, FIRST_C, PEEPHOLES = range(8)
"""Operand indices; GRU and RNN end with the first state."""

Gradients: TypeAlias = Mapping[int, Value]
"""Operand index -> gradient, for one direction."""


@dataclass(frozen=True)
class Steps:
    """One direction of an op; the first axis of its tensors is the step.

    `counts`: mask of steps within their sequence, None if all lengths are equal. `g`: cotangent of the states
    after each step; `last`: those of the last states; None if unused.
    """

    e: Builder
    attributes: Mapping[str, Any]
    direction: Direction
    x: Value
    w: Value
    r: Value
    bias: tuple[Value | None, Value | None]
    counts: Value | None
    firsts: Sequence[Value]
    y: Value
    g: Value | None
    last: Sequence[Value | None]
    peepholes: Value | None

    @property
    def before(self) -> Value:
        """The hidden state at the beginning of each step."""
        states = self.y
        if self.counts is not None and self.direction.backward:
            states = self.counts.where(states, self.firsts[0])  # zeros beyond the end
        return self.shift_states(states, self.firsts[0])

    def shift_states(self, states: Value, first: Value) -> Value:
        """Return the states before each step, from those after it."""
        e, back = self.e, self.direction.backward
        first = first.unsqueeze([0])
        start, end = ([1], [TO_THE_END]) if back else ([0], [-1])
        others = states.apply(onnx.SliceOp, e.ints(start), e.ints(end), e.ints([0]))
        return concat([others, first] if back else [first, others], 0).assume_shape(states.shape)

    def product(self, rows: Value, weights: Value, bias: Value | None = None) -> Value:
        """Return rows weights^T + bias for all steps in one product."""
        flat = flatten_steps(rows).apply(onnx.GemmOp, weights, bias, transB=1)
        sizes = [*(size_of(rows, axis) for axis in (0, 1)), size_of(weights, 0)]
        found = flat.apply(onnx.ReshapeOp, vector(flat, sizes), allowzero=None if is_known(sizes) else 1)
        return found.assume_shape((*rows.shape[:2], weights.shape[0]))

    def apply(self, which: int, x: Value) -> Applied:
        return Applied(self.direction.activations[which], x, self.attributes.get("clip"))

    def mask_steps(self, factor: Value, behind: float = 0) -> Value:
        """Return `factor`, or `behind` beyond the end of a sequence."""
        return factor if self.counts is None else self.counts.where(factor, behind)

    def backward(
        self, step: Callable[[Builder, Value, Exprs, Exprs], tuple[Exprs, Exprs]], factors: Exprs
    ) -> tuple[list[Value], list[Value]]:
        """Return the cotangents of the initial states, and the stacked results of `step`.

        `step` gets the cotangent of the hidden state, those of all states, and the factors of the step.
        Beyond the end of a sequence, that of the hidden state passes unchanged.
        """
        e = self.e
        begin = [
            e.fill_like(0, like) if one is None else one
            for one, like in zip(self.last, self.firsts, strict=True)
        ]
        skip = None if self.counts is None else self.counts.apply(onnx.NotOp).cast(self.y.dtype)
        given = [x for x in (self.g, skip) if x is not None]

        def whole(inner: Builder, states: Exprs, scanned: Exprs) -> tuple[Exprs, Exprs]:
            own, (*behind,) = scanned[: len(factors)], scanned[len(factors) :]
            total = states[0] if self.g is None else states[0] + behind[0]
            (first, *others), kept = step(inner, total, states, own)
            first = first if skip is None else first + total * behind[-1]
            return [first, *others], kept

        return scan(e, begin, [*factors, *given], whole, backward=not self.direction.backward)

    def of_weights(self, of_x: Value, of_h: Value) -> dict[int, Value]:
        """Return the gradients of x, W and B from the cotangents of the gates' arguments."""
        both = [total(of_x), total(of_h)] if of_x is not of_h else [total(of_x)] * 2
        return {X: of_x.apply(onnx.MatMulOp, self.w), W: outer(of_x, self.x), B: concat(both, 0)}


def total(steps: Value) -> Value:
    return steps.sum_axes([0, 1])


def flatten_steps(steps: Value) -> Value:
    return steps.apply(onnx.FlattenOp, axis=2)


def outer(a: Value, b: Value) -> Value:
    """Return the sum over all steps of a^T b."""
    return flatten_steps(a).apply(onnx.GemmOp, flatten_steps(b), transA=1)


def concat(parts: Exprs, axis: int) -> Value:
    e = parts[0].e
    return e.concat(parts, axis) if len(parts) > 1 else parts[0]


def parts_of(whole: Value, sizes: Sequence[int | Value], axis: int = -1) -> list[Value]:
    e = whole.e
    axis %= whole.rank
    split = onnx.SplitOp(whole.value, vector(whole, sizes).value, axis=axis, results=len(sizes))
    return list(map(e, e.emit.all(split)))
