"""VJP rules of LSTM, GRU and RNN.

The fused op stays; its hidden states give the gates' arguments of all steps in one product, so that only an
LSTM's cell state is recomputed step by step, elementwise. Backward, a step is linear in the cotangents of its
states: a Scan multiplies them by factors, computed for all steps at once, and by the recurrent weights. The
gradient of each weight is one product. Beyond the end of a sequence a step passes cotangents unchanged: its
factors are 0, or 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

import numpy as np

from dialects.onnx import ops as onnx
from dialects.onnx.recurrence import Direction, directions_of
from passes.autodiff.common.primal import ZERO, Gradient, Primal, Rule
from passes.autodiff.common.slice_adjoint import size_of
from passes.autodiff.rules.activations import Applied
from passes.autodiff.rules.recurrent_steps import (
    FIRST_C,
    FIRST_H,
    LENGTHS,
    PEEPHOLES,
    B,
    Gradients,
    R,
    Steps,
    W,
    X,
    concat,
    outer,
    parts_of,
    total,
)
from passes.builder.scans import Exprs, scan
from passes.builder.values import Builder, Value

# Cells


def rnn(s: Steps) -> Gradients:
    before = s.before
    gate = s.apply(0, s.product(s.x, s.w, s.bias[0]) + s.product(before, s.r, s.bias[1]))
    factor = s.mask_steps(gate.slope())

    def step(e: Builder, h: Value, _: Exprs, factors: Exprs) -> tuple[Exprs, Exprs]:
        inner = h * factors[0]
        return [inner.apply(onnx.MatMulOp, e(s.r.value))], [inner]

    (first,), (inner,) = s.backward(step, [factor])
    return {**s.of_weights(inner, inner), R: outer(inner, before), FIRST_H: first}


def gru(s: Steps) -> Gradients:
    return _gru_linear(s) if s.attributes.get("linear_before_reset", 0) else _gru_reset(s)


def _gru_linear(s: Steps) -> Gradients:
    """VJP of a GRU whose reset gate multiplies a product with the hidden state."""
    size, before = size_of(s.r, 1), s.before
    x_z, x_r, x_n = parts_of(s.product(s.x, s.w, s.bias[0]), [size] * 3)
    h_z, h_r, h_n = parts_of(s.product(before, s.r, s.bias[1]), [size] * 3)
    z, r = s.apply(0, x_z + h_z), s.apply(0, x_r + h_r)
    new = s.apply(1, x_n + r.y * h_n)
    of_new = new.slope(1 - z.y)
    factors = concat([z.slope(before - new.y), r.slope(of_new * h_n), of_new * r.y], 2)

    def step(e: Builder, h: Value, _: Exprs, own: Exprs) -> tuple[Exprs, Exprs]:
        inner = concat([h] * 3, 1) * own[0]
        return [inner.apply(onnx.MatMulOp, e(s.r.value)) + h * own[1]], [inner, h * own[2]]

    given = [s.mask_steps(factors), s.mask_steps(z.y), s.mask_steps(of_new)]
    (first,), (of_h, of_n) = s.backward(step, given)
    of_x = concat([*parts_of(of_h, [size] * 3)[:2], of_n], 2)
    return {**s.of_weights(of_x, of_h), R: outer(of_h, before), FIRST_H: first}


def _gru_reset(s: Steps) -> Gradients:
    """VJP of a GRU whose reset gate multiplies the hidden state before the product."""
    size, before = size_of(s.r, 1), s.before
    twice = size * 2
    r_gates, r_new = parts_of(s.r, [twice, size], 0)
    bias = (None, None) if s.bias[1] is None else parts_of(s.bias[1], [twice, size], 0)
    x_z, x_r, x_n = parts_of(s.product(s.x, s.w, s.bias[0]), [size] * 3)
    h_z, h_r = parts_of(s.product(before, r_gates, bias[0]), [size] * 2)
    z, r = s.apply(0, x_z + h_z), s.apply(0, x_r + h_r)
    reset = r.y * before
    new = s.apply(1, x_n + s.product(reset, r_new, bias[1]))

    def step(e: Builder, h: Value, _: Exprs, own: Exprs) -> tuple[Exprs, Exprs]:
        of_z, of_r, of_new, through_z, through_r = own
        inner = h * of_new
        of_reset = inner.apply(onnx.MatMulOp, e(r_new.value))
        gates = concat([h * of_z, of_reset * of_r], 1)
        back = gates.apply(onnx.MatMulOp, e(r_gates.value))
        return [back + h * through_z + of_reset * through_r], [gates, inner]

    factors = [z.slope(before - new.y), r.slope(before), new.slope(1 - z.y)]
    (first,), (gates, inner) = s.backward(step, [*map(s.mask_steps, factors), s.mask_steps(z.y), r.y])
    of_x = concat([gates, inner], 2)
    of_r = concat([outer(gates, before), outer(inner, reset)], 0)
    return {**s.of_weights(of_x, of_x), R: of_r, FIRST_H: first}


def lstm(s: Steps) -> Gradients:
    before, size = s.before, size_of(s.r, 1)
    inner = s.product(s.x, s.w, s.bias[0]) + s.product(before, s.r, s.bias[1])
    cell = _Cell(s, *parts_of(inner, [size] * 4))
    states = cell.states()
    cells = s.shift_states(states, s.firsts[1])
    gates = cell.gates(cells, states)
    of_gates, through_c, through_h = gates.factors(cells, states)

    def step(e: Builder, h: Value, given: Exprs, own: Exprs) -> tuple[Exprs, Exprs]:
        c = given[1] + h * own[1]
        inner = concat([c, h, c, c], 1) * own[0]
        return [inner.apply(onnx.MatMulOp, e(s.r.value)), c * own[2]], [inner]

    factors = [s.mask_steps(of_gates), s.mask_steps(through_h), s.mask_steps(through_c, 1)]
    (first_h, first_c), (of_x,) = s.backward(step, factors)
    found = {**s.of_weights(of_x, of_x), R: outer(of_x, before), FIRST_H: first_h, FIRST_C: first_c}
    if s.peepholes is None:
        return found
    i, o, f, _ = parts_of(of_x, [size] * 4)
    return {**found, PEEPHOLES: concat([total(i * cells), total(o * states), total(f * cells)], 0)}


@dataclass(frozen=True)
class _Cell:
    """Preactivations of an LSTM's gates in all steps, without peepholes."""

    s: Steps
    i: Value
    o: Value
    f: Value
    new: Value

    @property
    def is_coupled(self) -> bool:
        return bool(self.s.attributes.get("input_forget", 0))

    def peephole(self, which: int) -> Value | None:
        """Return the weights from the cell state to the input, output or forget gate, if present."""
        if self.s.peepholes is None:
            return None
        return parts_of(self.s.peepholes, [size_of(self.s.r, 1)] * 3, 0)[which]

    def states(self) -> Value:
        """Recompute the cell state after each step, by a Scan."""
        s, new = self.s, self.s.apply(1, self.new).y
        skip = [] if s.counts is None else [s.counts]
        if s.peepholes is None:
            i, f = s.apply(0, self.i).y, None if self.is_coupled else s.apply(0, self.f).y
            f = 1 - i if f is None else f
            factors = [s.mask_steps(f, 1), s.mask_steps(i * new)]
            _, (states,) = scan(s.e, s.firsts[1:], factors, _accumulate, backward=s.direction.backward)
            return states

        def step(e: Builder, given: Exprs, own: Exprs) -> tuple[Exprs, Exprs]:
            (c,), (i, f, new, *counts) = given, own
            open_ = self._gate(i, 0, c).y
            kept = 1 - open_ if self.is_coupled else self._gate(f, 2, c).y
            after = kept * c + open_ * new
            after = counts[0].where(after, c) if counts else after
            return [after], [after]

        scanned = [self.i, self.f, new, *skip]
        _, (states,) = scan(s.e, s.firsts[1:], scanned, step, backward=s.direction.backward)
        return states

    def _gate(self, inner: Value, which: int, cells: Value) -> Applied:
        weights = self.peephole(which)
        if weights is not None:
            inner = inner + cells * inner.e(weights.value)
        return self.s.apply(0, inner)

    def gates(self, cells: Value, states: Value) -> _Gates:
        forget = None if self.is_coupled else self._gate(self.f, 2, cells)
        s, open_ = self.s, self._gate(self.i, 0, cells)
        out, new = self._gate(self.o, 1, states), s.apply(1, self.new)
        # ONNX clips the gates' arguments only
        return _Gates(self, open_, out, forget, new, Applied(s.direction.activations[2], states, None))


@dataclass(frozen=True)
class _Gates:
    cell: _Cell
    i: Applied
    o: Applied
    f: Applied | None
    new: Applied
    h: Applied

    def factors(self, cells: Value, states: Value) -> tuple[Value, Value, Value]:
        """Return the factors from states to gates, from the cell state to the previous one, and from the
        hidden state to the cell state."""
        i, o = self.i.slope(self.new.y if self.f else self.new.y - cells), self.o.slope(self.h.y)
        f = self.f.slope(cells) if self.f else self.cell.s.e.fill_like(0, i)
        through_c, through_h = self.f.y if self.f else 1 - self.i.y, self.h.slope(self.o.y)
        if self.cell.s.peepholes is not None:
            p_i, p_o, p_f = map(self.cell.peephole, range(3))
            assert p_i is not None
            assert p_o is not None
            assert p_f is not None
            through_h = through_h + o * p_o
            through_c = through_c + i * p_i
            through_c = through_c + f * p_f if self.f else through_c
        return concat([i, o, f, self.new.slope(self.i.y)], 2), through_c, through_h


def _accumulate(e: Builder, states: Exprs, own: Exprs) -> tuple[Exprs, Exprs]:
    after = states[0] * own[0] + own[1]
    return [after], [after]


# Both directions


def _rule(
    op: str, cell: Callable[[Steps], Gradients], f: Primal, g: Sequence[Value], e: Builder
) -> Sequence[Gradient]:
    if f.value("layout", 0):
        return _by_batch(op, cell, f, g, e)
    directions = directions_of(op, f.attributes)
    counts, some = _counts(f, e)
    found = [cell(_steps(op, f, g, i, direction, counts, some)) for i, direction in enumerate(directions)]
    gradients: list[Gradient] = [ZERO] * len(f.operands)
    for index in (i for i in found[0] if i < len(f.operands) and f.operands[i] is not None):
        each = [one[index] for one in found]
        gradients[index] = _sum_directions(each) if index == X else _stack_directions(each)
    return gradients


def _sum_directions(each: Exprs) -> Value:
    return each[0] if len(each) == 1 else each[0] + each[1]


def _stack_directions(each: Exprs) -> Value:
    return concat([one.unsqueeze([0]) for one in each], 0)


def _counts(f: Primal, e: Builder) -> tuple[Value | None, Value | None]:
    """Return the mask of steps within their sequence, and the mask of nonempty sequences."""
    lengths = f.operand(LENGTHS)
    if lengths is None:
        return None, None
    count = f.x.apply(onnx.ShapeOp, start=0, end=1).squeeze([0])
    zero, one = (e(e.emit.constant(np.array(i, np.int64))) for i in (0, 1))
    steps = zero.apply(onnx.RangeOp, count, one).unsqueeze([1, 2])
    lengths = lengths.as_int64().unsqueeze([1])
    counts = (steps < lengths).assume_shape((f.x.shape[0], f.x.shape[1], 1))
    return counts, lengths > zero


def _steps(
    op: str,
    f: Primal,
    g: Sequence[Value],
    index: int,
    direction: Direction,
    counts: Value | None,
    some: Value | None,
) -> Steps:
    def own(value: Value | None, axis: int = 0) -> Value | None:
        return None if value is None else _at(value, index, axis)

    states = 2 if op == "LSTM" else 1
    last = [own(g[1 + i]) if f.is_read(1 + i) else None for i in range(states)]
    if some is not None:
        last = [None if one is None else some.where(one, 0) for one in last]
    given = own(g[0], 1) if f.is_read(0) else None
    if given is not None and counts is not None:
        given = counts.where(given, 0)
    like = own(f.results[1])
    x, w, r, y = f.x, own(f.operand(W)), own(f.operand(R)), own(f.results[0], 1)
    assert w is not None
    assert r is not None
    assert y is not None
    assert like is not None
    given_firsts = [own(f.operand(i)) for i in (FIRST_H, FIRST_C)[:states]]
    firsts = [f.e.fill_like(0, like) if one is None else one for one in given_firsts]
    bias, rows = own(f.operand(B)), size_of(w, 0)
    of_x, of_h = (None, None) if bias is None else parts_of(bias, [rows] * 2, 0)
    peepholes = own(f.operand(PEEPHOLES)) if op == "LSTM" else None
    return Steps(
        f.e, f.attributes, direction, x, w, r, (of_x, of_h), counts, firsts, y, given, last, peepholes
    )


def _at(value: Value, index: int, axis: int) -> Value:
    """Return the part of one direction."""
    e = value.e
    if value.shape[axis] == 1:
        return value.squeeze([axis])
    return value.apply(onnx.GatherOp, e(e.emit.constant(np.array(index, np.int64))), axis=axis)


def _by_batch(
    op: str, cell: Callable[[Steps], Gradients], f: Primal, g: Sequence[Value], e: Builder
) -> Sequence[Gradient]:
    """VJP for the batch-first layout."""
    moved = (X, FIRST_H, FIRST_C)

    def turned(value: Value) -> Value:
        return value.transpose([1, 0, 2])

    def result(value: Value, i: int) -> Value:
        return turned(value) if i else value.transpose([1, 2, 0, 3])

    operands = [turned(x) if x is not None and i in moved else x for i, x in enumerate(f.operands)]
    results = [None if x is None else result(x, i) for i, x in enumerate(f.results)]
    cotangents = [result(g[i], i) if f.is_read(i) else f.x for i in range(len(results))]
    steps_first = replace(f, operands=operands, results=results, attributes={**f.attributes, "layout": 0})
    found = _rule(op, cell, steps_first, cotangents, e)
    return [turned(x) if isinstance(x, Value) and i in moved else x for i, x in enumerate(found)]


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "GRU": partial(_rule, "GRU", gru),
        "LSTM": partial(_rule, "LSTM", lstm),
        "RNN": partial(_rule, "RNN", rnn),
    }
)
"""ONNX op -> its rule."""
