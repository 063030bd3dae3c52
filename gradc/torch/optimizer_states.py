"""States of optimizers before their first step, which torch creates within it, and the rate as a tensor."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dialects.support.diagnostics import Diagnostic, UnsupportedError
from gradc.importers.torch.state import State
from gradc.importers.torch.torch_internals import torch

FIRST = {"step": 0.0, "mu_product": 1.0, "exp_inf": 0.0}
"""Slots that a step with gradients of 0 does not leave at their initial values, with these."""

KNOWN = ("SGD", "Adam", "AdamW", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam")
"""Optimizers whose states begin with zeros or the values of `FIRST`."""

RATE = "lr"


@contextmanager
def initialise(optimizers: Sequence[Any]) -> Iterator[None]:
    """Give optimizers that have taken no step their initial states; they have none afterwards."""
    new = [one for one in optimizers if any(p not in one.state for p in _parameters(one))]
    for optimizer in new:
        _check_known(optimizer)
    before = [(one, {key: dict(slots) for key, slots in one.state.items()}) for one in new]
    try:
        for optimizer in new:
            _initialise(optimizer)
        yield
    finally:
        for optimizer, slots in before:
            optimizer.state.clear()
            optimizer.state.update(slots)


def _parameters(optimizer: Any) -> list[Any]:
    return [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]


def _check_known(optimizer: Any) -> None:
    name = type(optimizer).__name__
    if type(optimizer).__module__.partition(".")[0] != "torch" or name not in KNOWN:
        text = f"the states of {name} before its first step are unknown; take one step before the export"
        raise UnsupportedError(Diagnostic("error", text))
    if any(group.get("momentum") and group.get("dampening") for group in optimizer.param_groups):
        text = "the first step of SGD with dampening differs from all others; take one step before the export"
        raise UnsupportedError(Diagnostic("error", text))


def _initialise(optimizer: Any) -> None:
    """Take a step of gradients of 0 without weight decay, and undo what it did to the parameters."""
    parameters = _parameters(optimizer)
    kept = [(p, p.detach().clone(), p.grad) for p in parameters]
    known = set(optimizer.state)
    groups = [dict(group) for group in optimizer.param_groups]
    for group in optimizer.param_groups:
        group.update(dict.fromkeys({"weight_decay"} & set(group), 0))
    for parameter in parameters:
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    for group, values in zip(optimizer.param_groups, groups, strict=True):
        group.update(values)
    with torch.no_grad():
        for parameter, value, gradient in kept:
            parameter.copy_(value)
            parameter.grad = gradient
        for parameter in set(optimizer.state) - known:
            slots = optimizer.state[parameter]
            for slot in set(slots) & set(FIRST):
                slots[slot].fill_(FIRST[slot])


def states_of(state: State) -> dict[str, dict[str, str]]:
    """Return name of each state -> its parameter and its slot."""
    names = {id(tensor): name for name, tensor in state.tensors.items()}
    return {
        names[id(tensor)]: {"of": names[id(parameter)], "slot": slot}
        for optimizer in state.optimizers
        for parameter, slots in optimizer.state.items()
        for slot, tensor in slots.items()
        if id(tensor) in names and id(parameter) in names
    }


def rate_of(optimizers: Sequence[Any]) -> Any:
    """Return the rate of the first group as a tensor; None unless all are numbers and it is not 0."""
    rates = [group[RATE] for one in optimizers for group in one.param_groups if RATE in group]
    if not rates or not all(isinstance(rate, int | float) for rate in rates) or not rates[0]:
        return None
    return torch.tensor(float(rates[0]), dtype=torch.float32)


def with_rate(step: Callable[..., Any], optimizers: Sequence[Any]) -> Callable[..., Any]:
    """Return the step as a function of the rate and its own arguments; groups keep their ratios."""
    groups = [group for one in optimizers for group in one.param_groups]
    ratios = [group[RATE] / groups[0][RATE] for group in groups]
    is_double = all(p.dtype is torch.float64 for one in optimizers for p in _parameters(one))
    dtype = torch.float64 if is_double else torch.float32

    def step_at_rate(lr: Any, *args: Any, **kwargs: Any) -> Any:
        before = [dict(group) for group in groups]
        # torch multiplies by a rate that requires a gradient, and reads the value of any other
        rate = lr.detach().to(dtype).requires_grad_()
        for group, ratio in zip(groups, ratios, strict=True):
            group[RATE] = rate if ratio == 1 else (rate * ratio).detach().requires_grad_()
            group.update(dict.fromkeys({"foreach", "fused"} & set(group), False))
        try:
            return step(*args, **kwargs)
        finally:
            for group, values in zip(groups, before, strict=True):
                group.update(values)

    parameters = inspect.signature(step).parameters.values()
    rate = inspect.Parameter(RATE, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    named: Any = step_at_rate
    named.__signature__ = inspect.Signature([rate, *parameters])
    return named
