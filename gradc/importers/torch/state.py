"""Parameters and buffers of captured modules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from gradc.importers.torch.captured import InputKind
from gradc.importers.torch.closures import modules_of


@dataclass
class State:
    """Tensors with a name: those of `named_parameters()` and `named_buffers()`, each tensor once."""

    modules: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tensors: dict[str, Any] = field(default_factory=dict[str, Any])
    parameters: set[str] = field(default_factory=set[str])

    def kind(self, name: str) -> InputKind:
        return "parameter" if name in self.parameters else "buffer"

    def new_buffers(self) -> dict[str, Any]:
        """Return the buffers to which another tensor was assigned."""
        now = {name: tensor for name, tensor, _ in _tensors_of(self.modules)}
        return {
            name: now[name]
            for name, tensor in self.tensors.items()
            if name in now and now[name] is not tensor
        }

    @contextmanager
    def preserve(self) -> Iterator[None]:
        """Undo what a trace does to the modules' attributes and gradients."""
        attributes = [
            (module, dict(module.__dict__), dict(module._parameters), dict(module._buffers))
            for root in self.modules.values()
            for module in root.modules()
        ]
        gradients = [(tensor, tensor.grad) for tensor in self.tensors.values() if tensor.is_leaf]
        try:
            yield
        finally:
            for module, own, parameters, buffers in attributes:
                module.__dict__.clear()
                module.__dict__.update(own)
                _refill(module._parameters, parameters)
                _refill(module._buffers, buffers)
            for tensor, gradient in gradients:
                tensor.grad = gradient


def _refill(entries: dict[str, Any], before: Mapping[str, Any]) -> None:
    entries.clear()
    entries.update(before)


def _tensors_of(modules: Mapping[str, Any]) -> Iterator[tuple[str, Any, bool]]:
    for prefix, module in modules.items():
        for name, tensor in module.named_parameters(prefix):
            yield name, tensor, True
        for name, tensor in module.named_buffers(prefix):
            yield name, tensor, False


def find_state(function: Callable[..., Any]) -> State:
    """Return the state of a module, or of the modules that a function closes over.

    Names are those of the module; with several modules each has the name of its variable before them.
    """
    modules = modules_of(function)
    if len(modules) == 1:
        modules = {"": next(iter(modules.values()))}
    state = State(modules)
    known: set[int] = set()
    for name, tensor, is_parameter in _tensors_of(modules):
        if id(tensor) in known:
            continue
        known.add(id(tensor))
        state.tensors[name] = tensor
        if is_parameter:
            state.parameters.add(name)
    return state
