"""Runs of the function itself, by torch, without traces on its module or arguments."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from gradc.importers.torch.arguments import Arguments
from gradc.importers.torch.capture import output_leaves
from gradc.importers.torch.state import find_state
from gradc.importers.torch.torch_internals import torch


@dataclass(frozen=True)
class Eager:
    """A function and its arguments, run by torch."""

    function: Callable[..., Any]
    arguments: Arguments

    def run(self, tensors: Sequence[Any]) -> dict[str, Any]:
        """Return the results by position, and the new values of buffers by name."""
        state = find_state(self.function)
        before = {name: tensor.detach().clone() for name, tensor in state.tensors.items()}
        with state.preserve(), torch.enable_grad():
            try:
                args, kwargs = self.arguments.build([_fresh(tensor) for tensor in tensors])
                found = self.function(*args, **kwargs)
                results = [leaf.detach().clone() for _, leaf in output_leaves(found, None)]
                now = find_state(self.function).tensors
                buffers = {name: now[name].detach().clone() for name in before if name in now}
            finally:
                with torch.no_grad():
                    for name, tensor in state.tensors.items():
                        tensor.copy_(before[name])
        return {**{str(index): result for index, result in enumerate(results)}, **buffers}

    def run_wide(self, tensors: Sequence[Any]) -> dict[str, Any] | None:
        """Return the same in float64, or None if the function cannot run in it."""
        try:
            function = self.function
            if isinstance(function, torch.nn.Module):
                function = copy.deepcopy(cast(Any, function)).double()
            return Eager(function, self.arguments).run([_wide(tensor) for tensor in tensors])
        except Exception:  # whatever the function raises: it was not written for float64
            return None


def _fresh(tensor: Any) -> Any:
    """Return a copy that the function may change in place."""
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


def _wide(tensor: Any) -> Any:
    if not tensor.is_floating_point():
        return tensor
    return tensor.detach().double().requires_grad_(tensor.requires_grad)
