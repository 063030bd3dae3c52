"""Layers of LSTM, GRU and RNN as one op each, `gradc::recurrent`, and their gradients as another.

torch writes a layer as ops of each step, so that the graph would depend on the number of steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from gradc.importers.torch import refusals
from gradc.importers.torch.torch_internals import torch, user_location

# The ops

_LAYER = "Tensor input, Tensor[] states, Tensor[] weights, str kind, bool bidirectional"
_COTANGENTS = "Tensor? grad, Tensor? grad_hidden, Tensor? grad_cell"

_library: Any = torch.library.Library("gradc", "FRAGMENT")
_library.define(f"recurrent({_LAYER}) -> (Tensor, Tensor, Tensor)")
_library.define(f"recurrent_backward({_COTANGENTS}, {_LAYER}) -> Tensor[]")

FUNCTIONS: Mapping[str, Any] = {
    "gru": torch.gru,
    "lstm": torch.lstm,
    "rnn_relu": torch.rnn_relu,
    "rnn_tanh": torch.rnn_tanh,
}
"""Kind of a layer -> the function of torch."""


def _run(input: Any, states: Sequence[Any], weights: Sequence[Any], kind: str, bidirectional: bool) -> Any:
    """Return the hidden states of all steps, the last ones and, of an LSTM, the last cell states."""
    given = list(states) if kind == "lstm" else states[0]
    has_biases = len(weights) == (8 if bidirectional else 4)
    found = FUNCTIONS[kind](input, given, list(weights), has_biases, 1, 0.0, False, bidirectional, False)
    return found if kind == "lstm" else (*found, input.new_empty(0))


def _run_backward(
    grad: Any, grad_hidden: Any, grad_cell: Any, input: Any, states: Any, weights: Any, *options: Any
) -> Any:
    with torch.enable_grad():
        own = [one.detach().requires_grad_() for one in (input, *states, *weights)]
        count = 1 + len(states)
        found = _run(own[0], own[1:count], own[count:], *options)
        pairs = zip(found, (grad, grad_hidden, grad_cell), strict=True)
        outputs, cotangents = zip(*((y, g) for y, g in pairs if g is not None), strict=True)
        return list(torch.autograd.grad(outputs, own, cotangents, materialize_grads=True))


def _shapes(input: Any, states: Any, weights: Any, kind: str, bidirectional: bool) -> Any:
    directions, _, hidden = states[0].shape
    found = input.new_empty(*input.shape[:2], directions * hidden)
    last = [one.new_empty(one.shape) for one in states]
    return found, *last, *([] if kind == "lstm" else [input.new_empty(0)])


def _shapes_backward(
    grad: Any, grad_hidden: Any, grad_cell: Any, input: Any, states: Any, weights: Any, *_: Any
) -> Any:
    return [one.new_empty(one.shape) for one in (input, *states, *weights)]


_library.impl("recurrent", _run, "CPU")
_library.impl("recurrent_backward", _run_backward, "CPU")
_library.impl("recurrent", _shapes, "Meta")
_library.impl("recurrent_backward", _shapes_backward, "Meta")

# Their derivatives


class _Recurrent(torch.autograd.Function):
    """A layer; `apply(kind, bidirectional, count of states, input, *states, *weights)`."""

    @staticmethod
    def forward(kind: str, bidirectional: bool, count: int, *tensors: Any) -> Any:
        states, weights = list(tensors[1 : 1 + count]), list(tensors[1 + count :])
        found = torch.ops.gradc.recurrent(tensors[0], states, weights, kind, bidirectional)
        return found[: 1 + count]

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.options = inputs[:3]
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*inputs[3:])

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        cotangents = [*grads, None][:3]
        return None, None, None, *_Backward.apply(*cotangents, *ctx.options, *ctx.saved_tensors)

    @staticmethod
    def jvp(ctx: Any, *_: Any) -> Any:
        raise _no_derivative("forward-mode derivatives")

    @staticmethod
    def vmap(info: Any, in_dims: Any, *_: Any) -> Any:
        raise _no_derivative("torch.func.vmap")


class _Backward(torch.autograd.Function):
    """The gradient of a layer, which has no derivative."""

    @staticmethod
    def forward(
        grad: Any,
        grad_hidden: Any,
        grad_cell: Any,
        kind: str,
        bidirectional: bool,
        count: int,
        *tensors: Any,
    ) -> Any:
        states, weights = list(tensors[1 : 1 + count]), list(tensors[1 + count :])
        layer = (tensors[0], states, weights, kind, bidirectional)
        return tuple(torch.ops.gradc.recurrent_backward(grad, grad_hidden, grad_cell, *layer))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        raise _no_derivative("second derivatives")

    @staticmethod
    def jvp(ctx: Any, *_: Any) -> Any:
        raise _no_derivative("second derivatives")

    @staticmethod
    def vmap(info: Any, in_dims: Any, *_: Any) -> Any:
        raise _no_derivative("torch.func.vmap")


def _no_derivative(what: str) -> refusals.StepsOnly:
    return refusals.only_by_steps(f"{what} of LSTM, GRU and RNN", user_location())


# The form of torch's functions

_by_steps: ContextVar[bool] = ContextVar("by_steps", default=False)


@contextmanager
def by_steps() -> Iterator[None]:
    """Leave recurrent layers to torch, which writes them as ops of each step."""
    token = _by_steps.set(True)
    try:
        yield
    finally:
        _by_steps.reset(token)


def recurrent(kind: str) -> Callable[..., Any]:
    """Return the form of `torch.lstm`, `gru`, `rnn_tanh` or `rnn_relu` by an op for each layer."""

    def form(*args: Any, **named: Any) -> Any:
        if _by_steps.get() or named or len(args) != 9 or _is_packed(kind, args):
            return NotImplemented
        given, states, weights, has_biases, layers, dropout, train, bidirectional, batch_first = args
        if (train and dropout > 0 and layers > 1) or not given.shape[1 if batch_first else 0]:
            return NotImplemented
        directions, step = 2 if bidirectional else 1, 4 if has_biases else 2
        if len(weights) != layers * directions * step:
            raise refusals.only_by_steps("proj_size of an LSTM, which the op of ONNX lacks,", user_location())
        states = list(states) if kind == "lstm" else [states]
        found, last = given.transpose(0, 1) if batch_first else given, list[Any]()
        for layer in range(layers):
            own = slice(layer * directions, (layer + 1) * directions)
            of_layer = weights[own.start * step : own.stop * step]
            tensors = (found, *(state[own] for state in states), *of_layer)
            found, *each = _Recurrent.apply(kind, bidirectional, len(states), *tensors)
            last.append(each)
        found = found.transpose(0, 1) if batch_first else found
        return found, *(torch.cat(each) for each in zip(*last, strict=True))

    return form


def _is_packed(kind: str, args: Sequence[Any]) -> bool:
    """Return whether the sequences are packed: the second argument is the batch size of each step."""
    return isinstance(args[1 if kind == "lstm" else 2], torch.Tensor)
