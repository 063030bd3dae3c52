"""Layers of LSTM, GRU and RNN, and their gradients by the VJP rules of the ONNX ops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from passes.autodiff.common.slice_adjoint import pad_zeros
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call, Rule
from passes.lower_aten.derivative import pull_back_results
from passes.lower_aten.precision import in_float32
from passes.lower_aten.shapes import sizes

_GATES: Mapping[str, Sequence[int]] = MappingProxyType({"lstm": (0, 3, 1, 2), "gru": (1, 0, 2)})
"""Kind -> the gates in ONNX's order, as positions in torch's."""

_OPS: Mapping[str, type[OnnxOp]] = MappingProxyType({"lstm": onnx.LSTMOp, "gru": onnx.GRUOp})

_W, _R, _B, _STATES = 1, 2, 3, (5, 6)
"""Operands of the ONNX ops."""


def _reordered(x: Value, order: Sequence[int]) -> Value:
    """Return the blocks of rows, one for each gate, in another order."""
    if len(order) == 1:
        return x
    rows = x.shape[0]
    assert isinstance(rows, int), "the hidden size is static"
    size = rows // len(order)
    return x.e.concat([x[gate * size : (gate + 1) * size] for gate in order], 0)


def _inverse(order: Sequence[int]) -> list[int]:
    return [order.index(gate) for gate in range(len(order))]


def _stacked(of_direction: Sequence[Value]) -> Value:
    return of_direction[0].e.concat([one.unsqueeze([0]) for one in of_direction], 0)


def _not_empty(f: Call, x: Value, axis: int = 1) -> Value:
    """Append a sequence of zeros to an empty batch, for which onnxruntime has no kernel."""
    batch = sizes(f.input)[1]
    if isinstance(batch, int) and batch:
        return x
    missing = (1 - f.vector([batch])).at_least(0)
    after = [missing if i == axis else 0 for i in range(x.rank)]
    return pad_zeros(x, [0] * x.rank, after)


def _of_batch(f: Call, x: Value, axis: int = 1) -> Value:
    """Undo `_not_empty`."""
    batch = sizes(f.input)[1]
    if isinstance(batch, int) and batch:
        return x
    return x.apply(onnx.SliceOp, f.e.ints([0]), f.vector([batch]), f.e.ints([axis]))


def _layer(f: Call) -> list[Value]:
    """Return the results of the ONNX op of a layer."""
    hidden = sizes(f.states[0])[2]
    if not isinstance(hidden, int):
        raise f.refusal("a dynamic hidden size", given=hidden, hint="fix the dim")
    directions = 2 if f.bidirectional else 1
    step = len(f.weights) // directions
    order = _GATES.get(f.kind, (0,))
    of_each = [
        [_reordered(one, order) for one in f.weights[i * step : (i + 1) * step]] for i in range(directions)
    ]
    w, r = (_stacked([each[i] for each in of_each]) for i in range(2))
    bias = None if step == 2 else _stacked([f.e.concat(each[2:], 0) for each in of_each])
    attributes: dict[str, Any] = {"hidden_size": hidden}
    if f.bidirectional:
        attributes["direction"] = "bidirectional"
    if f.kind == "gru":
        attributes["linear_before_reset"] = 1
    if f.kind == "rnn_relu":
        attributes["activations"] = ["Relu"] * directions
    tensors = (_not_empty(f, f.input), w, r, bias, None, *(_not_empty(f, one) for one in f.states))
    operands = [one if one is None else one.value for one in tensors]
    made = _OPS.get(f.kind, onnx.RNNOp)(*operands, **attributes)
    return [f.e(value) for value in f.e.emit.all(made)]


def layer(f: Call, e: Builder) -> Sequence[Value | None]:
    """The hidden states of all steps (T, N, D H), and the last states (D, N, H)."""
    found, *last = _layer(f)
    steps, batch = sizes(f.input)[:2]
    directions, _, hidden = sizes(f.states[0])
    joined = _of_batch(f, found, 2).transpose([0, 2, 1, 3])
    joined = joined.apply(onnx.ReshapeOp, f.vector([steps, batch, directions * hidden]), allowzero=1)
    return [joined, *(_of_batch(f, one) for one in last), *[None] * (2 - len(last))]


def layer_backward(f: Call, e: Builder) -> Sequence[Value | None]:
    """The gradients of the input, the first states, and the weights in torch's order."""
    of_last = [f.grad_hidden, f.grad_cell][: len(f.states)]
    cotangents = [_by_direction(f), *(one if one is None else _not_empty(f, one) for one in of_last)]
    has_bias = len(f.weights) > (4 if f.bidirectional else 2)
    wanted = [0, *_STATES[: len(f.states)], _W, _R, *([_B] if has_bias else [])]
    found = dict(zip(wanted, pull_back_results(_layer(f), cotangents, wanted), strict=True))
    of_weights = [
        _reordered(part, _inverse(_GATES.get(f.kind, (0,))))
        for direction in range(2 if f.bidirectional else 1)
        for part in _of_direction(found, direction)
    ]
    return [*(_of_batch(f, found[i]) for i in (0, *_STATES[: len(f.states)])), *of_weights]


def _by_direction(f: Call) -> Value | None:
    """Return the cotangent of the hidden states of all steps, (T, D, N, H)."""
    if f.grad is None:
        return None
    steps, batch = sizes(f.input)[:2]
    directions, _, hidden = sizes(f.states[0])
    split = f.grad.apply(onnx.ReshapeOp, f.vector([steps, batch, directions, hidden]), allowzero=1)
    return _not_empty(f, split.transpose([0, 2, 1, 3]), 2)


def _of_direction(found: Mapping[int, Value], direction: int) -> list[Value]:
    w, r, *bias = (found[i][direction] for i in (_W, _R, _B) if i in found)
    if not bias:
        return [w, r]
    size = w.shape[0]
    return [w, r, bias[0][:size], bias[0][size:]]


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "recurrent.default": in_float32(layer),
        "recurrent_backward.default": in_float32(layer_backward),
    }
)
