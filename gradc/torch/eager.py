"""Runs of the function itself, by torch, without traces on its modules, optimizers or arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dialects.support.diagnostics import GradcError
from gradc.importers.torch.algebra_forms import SafeKernels
from gradc.importers.torch.arguments import Arguments
from gradc.importers.torch.refusals import failure_of_run
from gradc.importers.torch.results import output_leaves
from gradc.importers.torch.state import State, find_state, set_gradients
from gradc.importers.torch.torch_internals import location_of_error, torch


@dataclass(frozen=True)
class Eager:
    """A function and its arguments, run by torch."""

    function: Callable[..., Any]
    arguments: Arguments

    def run(self, tensors: Sequence[Any]) -> dict[str, Any]:
        """Return the results by position, and by name what arguments, parameters, buffers and states are
        afterwards."""
        return self._run(tensors, _same)

    def run_scaled(self, tensors: Sequence[Any]) -> dict[str, Any]:
        """Return the same with all numbers larger by two roundings of float64, so that results differ by what
        roundings make of them. Equal numbers stay equal."""
        return self._run([_nudge(tensor) for tensor in tensors], _nudge)

    def run_wide(self, tensors: Sequence[Any]) -> dict[str, Any] | None:
        """Return the same in float64, or None if the function cannot run in it."""
        try:
            return self._run([_wide(tensor) for tensor in tensors], _widest)
        except Exception:  # whatever the function raises: it was not written for float64
            return None

    def call_once(self) -> tuple[Any, Any]:
        """Return the function's result for the example, and the arguments that it was called with."""
        with _undone(find_state(self.function), _same), torch.enable_grad():
            called = self.arguments.build([_fresh(leaf.tensor) for leaf in self.arguments.tensors])
            return self._call(*called), called

    def adds_to_gradients(self) -> bool:
        """Return whether a result depends on the gradients that an earlier call left in leaf tensors."""
        gradients: list[tuple[Any, Any]] = []
        tensors = [leaf.tensor for leaf in self.arguments.tensors]
        first = self._run(tensors, _same, gradients)
        if all(gradient is None for _, gradient in gradients):
            return False
        second = self._run(tensors, _same, gradients)
        return not all(torch.allclose(first[key], second[key], equal_nan=True) for key in first)

    def _call(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call the function. An exception of it, or of torch, is a GradcError at the user's line."""
        try:
            with SafeKernels():
                return self.function(*args, **kwargs)
        except GradcError:
            raise
        except Exception as error:  # whatever it raises
            raise failure_of_run(error, location_of_error(error)) from error

    def _run(
        self,
        tensors: Sequence[Any],
        change: Callable[[Any], Any],
        gradients: list[tuple[Any, Any]] | None = None,
    ) -> dict[str, Any]:
        """Return results and state; `gradients` are those before the run, and then those after it. `change`
        gives the data of parameters, buffers and states."""
        state = find_state(self.function)
        with _undone(state, change), torch.enable_grad():
            set_gradients(gradients or ())
            copies = [_fresh(tensor) for tensor in tensors]
            args, kwargs = self.arguments.build(copies)
            result = self._call(args, kwargs)
            found = {str(index): leaf for index, (_, leaf) in enumerate(output_leaves(result, None))}
            found |= {leaf.name: copy for leaf, copy in zip(self.arguments.tensors, copies, strict=True)}
            found |= find_state(self.function).tensors
            if gradients is not None:
                gradients[:] = state.gradients()
            return {name: tensor.detach().clone() for name, tensor in found.items()}


@contextmanager
def _undone(state: State, change: Callable[[Any], Any]) -> Iterator[None]:
    """Undo what a run does to parameters, buffers and states, whose data `change` gives in it."""
    before = [(tensor, tensor.data, tensor.detach().clone()) for tensor in state.tensors.values()]
    with state.preserve():
        try:
            for tensor, data, _ in before:
                tensor.data = change(data)
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


def _same(tensor: Any) -> Any:
    return tensor


def _nudge(tensor: Any) -> Any:
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return tensor
    return (tensor.detach() * (1 + 2.0**-51)).requires_grad_(tensor.requires_grad)
