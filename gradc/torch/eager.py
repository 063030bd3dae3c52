"""Runs of the function itself, by torch, without traces on its modules, optimizers or arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from gradc.importers.torch.arguments import Arguments
from gradc.importers.torch.results import output_leaves
from gradc.importers.torch.state import State, find_state, set_gradients
from gradc.importers.torch.torch_internals import torch


@dataclass(frozen=True)
class Eager:
    """A function and its arguments, run by torch."""

    function: Callable[..., Any]
    arguments: Arguments

    def run(self, tensors: Sequence[Any]) -> dict[str, Any]:
        """Return the results by position, and by name what arguments, parameters, buffers and states are
        afterwards."""
        return self._run(tensors, wide=False)

    def run_wide(self, tensors: Sequence[Any]) -> dict[str, Any] | None:
        """Return the same in float64, or None if the function cannot run in it."""
        try:
            return self._run([_wide(tensor) for tensor in tensors], wide=True)
        except Exception:  # whatever the function raises: it was not written for float64
            return None

    def call_once(self) -> tuple[Any, Any]:
        """Return the function's result for the example, and the arguments that it was called with."""
        with _undone(find_state(self.function), wide=False), torch.enable_grad():
            called = self.arguments.build([_fresh(leaf.tensor) for leaf in self.arguments.tensors])
            return self.function(*called[0], **called[1]), called

    def adds_to_gradients(self) -> bool:
        """Return whether a result depends on the gradients that an earlier call left in leaf tensors."""
        gradients: list[tuple[Any, Any]] = []
        tensors = [leaf.tensor for leaf in self.arguments.tensors]
        first = self._run(tensors, wide=False, gradients=gradients)
        if all(gradient is None for _, gradient in gradients):
            return False
        second = self._run(tensors, wide=False, gradients=gradients)
        return not all(torch.allclose(first[key], second[key], equal_nan=True) for key in first)

    def _run(
        self, tensors: Sequence[Any], wide: bool, gradients: list[tuple[Any, Any]] | None = None
    ) -> dict[str, Any]:
        """Return results and state; `gradients` are those before the run, and then those after it."""
        state = find_state(self.function)
        with _undone(state, wide=wide), torch.enable_grad():
            set_gradients(gradients or ())
            copies = [_fresh(tensor) for tensor in tensors]
            args, kwargs = self.arguments.build(copies)
            result = self.function(*args, **kwargs)
            found = {str(index): leaf for index, (_, leaf) in enumerate(output_leaves(result, None))}
            found |= {leaf.name: copy for leaf, copy in zip(self.arguments.tensors, copies, strict=True)}
            found |= find_state(self.function).tensors
            if gradients is not None:
                gradients[:] = state.gradients()
            return {name: tensor.detach().clone() for name, tensor in found.items()}


@contextmanager
def _undone(state: State, *, wide: bool) -> Iterator[None]:
    """Undo what a run does to parameters, buffers and states; with `wide` they are float64 in it."""
    before = [(tensor, tensor.data, tensor.detach().clone()) for tensor in state.tensors.values()]
    with state.preserve():
        try:
            for tensor, data, _ in before:
                tensor.data = _widest(data) if wide else data
            yield
        finally:
            for tensor, data, value in before:
                tensor.grad = None if tensor.is_leaf else tensor.grad
                tensor.data = data
                tensor.data.copy_(value)


def _fresh(tensor: Any) -> Any:
    """Return a copy that the function may change in place."""
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


def _wide(tensor: Any) -> Any:
    return _widest(tensor.detach()).requires_grad_(tensor.requires_grad)


def _widest(tensor: Any) -> Any:
    """Return a tensor in float64 or complex128; one of integers as it is."""
    if tensor.is_complex():
        return tensor.to(torch.complex128)
    return tensor.double() if tensor.is_floating_point() else tensor
