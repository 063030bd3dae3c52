# pyright: standard
# (numpy in comprehensions and lambdas, whose elements its stubs do not know)
"""numpy semantics of LSTM, GRU and RNN, step by step.

A shorter sequence keeps its state after its end, and its output is zero there. As in onnxruntime, an empty
sequence has a last state of zeros, not its initial one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from dialects.onnx.call import Call
from dialects.onnx.operands import optional, value
from dialects.onnx.recurrence import GATES, Activation, Direction, directions_of
from dialects.support.diagnostics import violation
from dialects.support.shapes import show

Kernel = Callable[[Call], Sequence[np.ndarray]]
States: TypeAlias = tuple[np.ndarray, ...]

_FUNCTIONS: dict[str, Callable[[np.ndarray, float, float], np.ndarray]] = {
    "Affine": lambda x, a, b: a * x + b,
    "Elu": lambda x, a, b: np.where(x > 0, x, a * np.expm1(np.minimum(x, 0))),
    "HardSigmoid": lambda x, a, b: np.clip(a * x + b, 0, 1),
    "LeakyRelu": lambda x, a, b: np.where(x > 0, x, a * x),
    "Relu": lambda x, a, b: np.maximum(x, 0),
    "ScaledTanh": lambda x, a, b: a * np.tanh(b * x),
    "Sigmoid": lambda x, a, b: 0.5 * (1 + np.tanh(0.5 * x)),
    "Softplus": lambda x, a, b: np.logaddexp(x, 0),
    "Softsign": lambda x, a, b: x / (1 + np.abs(x)),
    "Tanh": lambda x, a, b: np.tanh(x),
    "ThresholdedRelu": lambda x, a, b: np.where(x > a, x, 0),
}


@dataclass(frozen=True)
class Cell:
    """The weights of one direction, and its step functions."""

    call: Call
    direction: Direction
    r: np.ndarray
    bias: np.ndarray
    peepholes: np.ndarray | None

    def apply(self, which: int, x: np.ndarray, clipped: bool = True) -> np.ndarray:
        function: Activation = self.direction.activations[which]
        bound = self.call.attribute("clip")
        x = x if bound is None or not clipped else np.clip(x, -bound, bound)
        return _FUNCTIONS[function.name](x, function.alpha, function.beta)

    def rnn(self, x: np.ndarray, h: np.ndarray) -> States:
        return (self.apply(0, x + h @ self.r.T + self.bias),)

    def gru(self, x: np.ndarray, h: np.ndarray) -> States:
        size = h.shape[1]
        (r_z, r_r, r_h), (b_z, b_r, b_h) = np.split(self.r, 3), np.split(self.bias, 3)
        x_z, x_r, x_h = np.split(x, 3, 1)
        if r_h.shape != (size, size):
            expected = show((3 * size, size))
            raise violation("recurrent weights of GRU", given=show(self.r.shape), expected=expected)
        z, r = self.apply(0, x_z + h @ r_z.T + b_z), self.apply(0, x_r + h @ r_r.T + b_r)
        if self.call.attribute("linear_before_reset", 0):
            new = self.apply(1, x_h + r * (h @ r_h.T + b_h))
        else:
            new = self.apply(1, x_h + (r * h) @ r_h.T + b_h)
        return ((1 - z) * new + z * h,)

    def lstm(self, x: np.ndarray, h: np.ndarray, c: np.ndarray) -> States:
        i, o, f, new = np.split(x + h @ self.r.T + self.bias, 4, 1)
        p_i, p_o, p_f = np.zeros((3, 1)) if self.peepholes is None else np.split(self.peepholes, 3)
        i = self.apply(0, i + p_i * c)
        f = 1 - i if self.call.attribute("input_forget", 0) else self.apply(0, f + p_f * c)
        c = f * c + i * self.apply(1, new)
        return (self.apply(0, o + p_o * c) * self.apply(2, c, clipped=False), c)


STEPS = {"GRU": Cell.gru, "LSTM": Cell.lstm, "RNN": Cell.rnn}


def recurrent(call: Call) -> list[np.ndarray]:
    """Return the states after each step, and the last ones of each direction."""
    x, w, r = (value(call, i) for i in range(3))
    by_batch = call.attribute("layout", 0)
    x = x.swapaxes(0, 1) if by_batch else x
    shape = (len(w), x.shape[1], r.shape[-1])
    firsts = [optional(call, i) for i in (5, 6)[: 2 if call.name == "LSTM" else 1]]
    firsts = [np.zeros(shape) if s is None else s.swapaxes(0, 1) if by_batch else s for s in firsts]
    bias, lengths = optional(call, 3), optional(call, 4)
    lengths = np.full(x.shape[1], len(x)) if lengths is None else lengths
    peepholes = optional(call, 7) if call.name == "LSTM" else None
    whole, last = [], []
    for d, direction in enumerate(directions_of(call.name, call.attributes)):
        of_x, of_h = np.split(np.zeros(2 * w.shape[1]) if bias is None else bias[d], 2)
        cell = Cell(call, direction, r[d], of_h, None if peepholes is None else peepholes[d])
        y, states = _pass(cell, x @ w[d].T + of_x, tuple(s[d] for s in firsts), lengths)
        whole.append(y)
        last.append(states)
    y, states = np.stack(whole, 1), [np.stack(each) for each in zip(*last, strict=True)]
    if by_batch:
        y, states = y.transpose(2, 0, 1, 3), [s.swapaxes(0, 1) for s in states]
    return [y, *states][: call.results]


def _pass(cell: Cell, x: np.ndarray, states: States, lengths: np.ndarray) -> tuple[np.ndarray, States]:
    """Run one direction for all sequences of a batch."""
    step, y = STEPS[cell.call.name], np.zeros((*x.shape[:2], x.shape[2] // GATES[cell.call.name]))
    for t in range(len(x))[:: -1 if cell.direction.backward else 1]:
        goes = (t < lengths)[:, None]
        new = step(cell, x[t], *states)
        y[t] = np.where(goes, new[0], 0)
        states = tuple(np.where(goes, n, old) for n, old in zip(new, states, strict=True))
    return y, tuple(np.where((lengths > 0)[:, None], s, 0) for s in states)


KERNELS: dict[str, Kernel] = dict.fromkeys(GATES, recurrent)
