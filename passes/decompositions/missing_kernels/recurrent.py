"""LSTM, GRU and RNN as a Scan over the steps, for types without a kernel, and for a dynamic hidden size.

The latter has the quirk no-hidden-size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import NoneType

from dialects.onnx import ops as onnx
from dialects.onnx.recurrence import GATES, Direction, directions_of
from dialects.support.shapes import Dim
from passes.autodiff.common.primal import Primal
from passes.builder.activations import apply_activation
from passes.builder.scans import Exprs, scan
from passes.builder.values import Builder, Value
from passes.decompositions.registry import Results


def recurrent(f: Primal, e: Builder) -> Results | None:
    """Return the states after each step, and the last ones, of all directions."""
    op = f.op
    operands = [None if value is None else e(value) for value in op.onnx_inputs()]
    operands += [None] * (8 - len(operands))
    attributes = op.onnx_attributes()
    r = operands[2]
    if attributes.get("layout", 0) or r is None:
        return None
    hidden = attributes.get("hidden_size", r.shape[2])
    if not isinstance(hidden, int):
        hidden = r.apply(onnx.ShapeOp).apply(onnx.GatherOp, e.ints([2]), axis=0)
    passes = [
        _pass(_Pass(op.onnx_name(), e, operands, attributes, index, direction, hidden))
        for index, direction in enumerate(directions_of(op.onnx_name(), attributes))
    ]
    made = [_stack(parts, 0 if place else 1) for place, parts in enumerate(zip(*passes, strict=True))]
    return [own if own.type == NoneType() else one.value for own, one in zip(op.results, made, strict=False)]


def _stack(parts: Sequence[Value], axis: int) -> Value:
    e = parts[0].e
    rows = [part.unsqueeze([axis]).value for part in parts]
    return e(e.emit(onnx.ConcatOp(rows, axis=axis))) if len(rows) > 1 else e(rows[0])


@dataclass(frozen=True)
class _Pass:
    """One direction of an op."""

    name: str
    e: Builder
    operands: Sequence[Value | None]
    attributes: Mapping[str, Any]
    index: int
    direction: Direction
    hidden: int | Value

    def widths(self, e: Builder, counts: Sequence[int]) -> Value:
        """Return multiples of the hidden size."""
        if isinstance(self.hidden, int):
            return e.ints([count * self.hidden for count in counts])
        return e(self.hidden.value) * e.ints(counts)

    def parts(self, x: Value, counts: Sequence[int]) -> list[Value]:
        """Split the last axis into multiples of the hidden size."""
        sizes = self.widths(x.e, counts)
        split = onnx.SplitOp(x.value, sizes.value, axis=x.rank - 1, results=len(counts))
        return list(map(x.e, x.e.emit.all(split)))

    def own(self, place: int) -> Value | None:
        """Return the part of an operand for this direction, without the axis of directions."""
        given = self.operands[place]
        if given is None:
            return None
        row = given.apply(onnx.GatherOp, self.e.ints([self.index]), axis=0)
        return row.squeeze([0])

    def weights(self, place: int) -> Value:
        """Return the weights of all gates, concatenated."""
        found = self.own(place)
        assert found is not None
        return found.transpose([1, 0])

    def first(self, place: int, like: Value) -> Value:
        """Return an initial state of shape (batch, hidden)."""
        given = self.own(place)
        shape: list[Dim] = [like.shape[1], self.hidden if isinstance(self.hidden, int) else None]
        if given is not None:
            return given.assume_shape(shape)
        e = self.e
        batch = like.apply(onnx.ShapeOp).apply(onnx.GatherOp, e.ints([1]), axis=0)
        sizes = e.concat([batch, self.widths(e, [1])], 0)
        return e.scalar(0, like).apply(onnx.ExpandOp, sizes).assume_shape(shape)

    def biases(self) -> Sequence[Value | None]:
        """Return the biases of the input and of the hidden state."""
        given = self.own(3)
        return (None, None) if given is None else self.parts(given, [GATES[self.name]] * 2)

    def apply(self, which: int, x: Value, *, clipped: bool = True) -> Value:
        one, bound = self.direction.activations[which], self.attributes.get("clip")
        x = x if bound is None or not clipped else x.clip_to(-bound, bound)
        return apply_activation(x, one)


def _pass(p: _Pass) -> list[Value]:
    """Return the states after each step, (steps, batch, hidden), and the last ones."""
    x, e = p.operands[0], p.e
    assert x is not None
    of_x, of_h = p.biases()
    inner = x.apply(onnx.MatMulOp, p.weights(1))
    inner = inner if of_x is None else inner + of_x
    states = [p.first(place, x) for place in (5, 6)[: 2 if p.name == "LSTM" else 1]]
    lengths = p.operands[4]
    masks = [] if lengths is None else [_step_mask(x, lengths)]
    weights = _Weights(p.weights(2), of_h, p.own(7) if p.name == "LSTM" else None)
    next_states = STEPS[p.name]

    def step(e: Builder, before: Exprs, given: Exprs) -> tuple[Exprs, Exprs]:
        after = next_states(p, weights.within(e), given[0], *before)
        if not masks:
            return [new.assume_shape(old.shape) for new, old in zip(after, before, strict=True)], after[:1]
        kept = [given[1].where(new, old) for new, old in zip(after, before, strict=True)]
        shown = given[1].where(after[0], 0)
        return [new.assume_shape(old.shape) for new, old in zip(kept, before, strict=True)], [shown]

    last, (y,) = scan(e, states, [inner, *masks], step, backward=p.direction.backward)
    if lengths is not None:
        some = (lengths > 0).unsqueeze([1])
        last = [some.where(state, 0) for state in last]
    return [y, *last]


def _step_mask(x: Value, lengths: Value) -> Value:
    """Return the mask of steps within their sequence: (steps, batch, 1)."""
    e = x.e
    count = x.apply(onnx.ShapeOp).apply(onnx.GatherOp, e.ints([0]), axis=0)
    first, one = e.scalar(0, count), e.scalar(1, count)
    steps = first.apply(onnx.RangeOp, count.squeeze([0]), one)
    steps = steps.unsqueeze([1, 2])
    return steps < lengths.as_int64().unsqueeze([0, 2])


@dataclass(frozen=True)
class _Weights:
    """Recurrent weights of all gates, concatenated, with their biases and the peepholes."""

    r: Value
    bias: Value | None
    peepholes: Value | None

    def within(self, e: Builder) -> _Weights:
        """Return the weights for ops of a nested graph."""
        bias, peepholes = (None if x is None else e(x.value) for x in (self.bias, self.peepholes))
        return _Weights(e(self.r.value), bias, peepholes)

    def product(self, h: Value) -> Value:
        found = h.apply(onnx.MatMulOp, self.r)
        return found if self.bias is None else found + self.bias


def _rnn(p: _Pass, w: _Weights, x: Value, h: Value) -> list[Value]:
    return [p.apply(0, w.product(h) + x)]


def _gru(p: _Pass, w: _Weights, x: Value, h: Value) -> list[Value]:
    x_z, x_r, x_n = p.parts(x, [1] * 3)
    if p.attributes.get("linear_before_reset", 0):
        h_z, h_r, h_n = p.parts(w.product(h), [1] * 3)
        z, r = p.apply(0, x_z + h_z), p.apply(0, x_r + h_r)
        new = p.apply(1, x_n + r * h_n)
    else:
        gates, of_new = p.parts(w.r, [2, 1])
        biases = (None, None) if w.bias is None else p.parts(w.bias, [2, 1])
        h_z, h_r = p.parts(_Weights(gates, biases[0], None).product(h), [1] * 2)
        z, r = p.apply(0, x_z + h_z), p.apply(0, x_r + h_r)
        new = p.apply(1, x_n + _Weights(of_new, biases[1], None).product(r * h))
    return [(1 - z) * new + z * h]


def _lstm(p: _Pass, w: _Weights, x: Value, h: Value, c: Value) -> list[Value]:
    i, o, f, new = p.parts(x + w.product(h), [1] * 4)
    p_i, p_o, p_f = (None,) * 3 if w.peepholes is None else p.parts(w.peepholes, [1] * 3)
    i = p.apply(0, _add_peephole(i, p_i, c))
    f = 1 - i if p.attributes.get("input_forget", 0) else p.apply(0, _add_peephole(f, p_f, c))
    c = f * c + i * p.apply(1, new)
    return [p.apply(0, _add_peephole(o, p_o, c)) * p.apply(2, c, clipped=False), c]


def _add_peephole(gate: Value, peephole: Value | None, c: Value) -> Value:
    return gate if peephole is None else gate + peephole * c


STEPS: Mapping[str, Callable[..., list[Value]]] = {"GRU": _gru, "LSTM": _lstm, "RNN": _rnn}
"""Op -> function from the states before a step to those after it."""
