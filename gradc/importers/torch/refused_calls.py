"""Methods of training helpers that keep or read state in Python, refused at the line of the call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from dialects.support.diagnostics import GradcError
from gradc.importers.torch import refusals
from gradc.importers.torch.torch_internals import torch, user_location

_CALLS: tuple[tuple[Any, str, Callable[[str], GradcError]], ...] = (
    (torch.amp.GradScaler, "scale", refusals.grad_scaler),
    (torch.optim.swa_utils.AveragedModel, "update_parameters", refusals.averaged_model),
    (torch.optim.lr_scheduler.ReduceLROnPlateau, "step", refusals.plateau),
)
"""Class, its method, and the error of a call."""


@contextmanager
def refused_calls() -> Iterator[None]:
    """Let the methods raise the error that says what to do instead."""
    with ExitStack() as stack:
        for kind, name, error in _CALLS:
            before = getattr(kind, name)
            setattr(kind, name, _raise(error))
            stack.callback(setattr, kind, name, before)
        yield


def _raise(error: Callable[[str], GradcError]) -> Callable[..., Any]:
    def call(*_: Any, **__: Any) -> Any:
        raise error(user_location())

    return call
