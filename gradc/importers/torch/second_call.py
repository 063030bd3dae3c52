"""Tensors that a call leaves in Python objects, and that change the results of the next call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import zip_longest
from typing import Any

from dialects.support.diagnostics import GradcError
from gradc.importers.torch import refusals
from gradc.importers.torch import torch_internals as internals
from gradc.importers.torch.arguments import Arguments
from gradc.importers.torch.state import State
from gradc.importers.torch.torch_internals import torch
from gradc.importers.torch.trace import Record, trace_arguments


def check_second_call(function: Callable[..., Any], arguments: Arguments, state: State) -> None:
    """Raise the error of a function whose second call reads values that the first left in a Python object.

    A cache of values that do not depend on the arguments is none of these.
    """
    try:
        _check_traces(function, arguments, state)
    except GradcError:
        if not _is_same_after_another_call(function, arguments, state):
            raise


def _check_traces(function: Callable[..., Any], arguments: Arguments, state: State) -> None:
    mode, sizes = internals.fake_mode(), arguments.dims
    with state.preserve_tensors(), internals.trace_optimizers(state.optimizers):
        with state.preserve_named():
            _, first, _ = trace_arguments(sizes, function, arguments, mode)
        _, second, _ = trace_arguments(sizes, function, arguments, mode)
    calls = zip_longest(first.records, second.records)
    different = next((pair for pair in calls if _text(pair[0]) != _text(pair[1])), None)
    if different is not None or len(first.lifted) != len(second.lifted):
        record = next(filter(None, different or ()), None)
        raise refusals.differs_in_second_call(record.location if record else "")


def _text(record: Record | None) -> str:
    return "" if record is None else repr((record.op, record.args, record.kwargs, record.results))


def _is_same_after_another_call(function: Callable[..., Any], arguments: Arguments, state: State) -> bool:
    """Return whether results are the same with and without a call for other arguments before."""
    some, others = arguments.reals(arguments.dims), _others(arguments)
    try:
        with ExitStack() as stack:
            stack.enter_context(state.preserve_values())
            stack.enter_context(state.preserve_tensors())
            expected = _call(function, arguments, others)
        with ExitStack() as stack:
            stack.enter_context(state.preserve_tensors())
            with state.preserve_values(), state.preserve_named():
                _call(function, arguments, some)
            stack.enter_context(state.preserve_values())
            found = _call(function, arguments, others)
    except Exception:  # whatever the function raises: its second call does something else
        return False
    return len(found) == len(expected) and all(map(_is_equal, found, expected))


def _others(arguments: Arguments) -> list[Any]:
    """Return arguments in which integers, which have no noise, are in another order."""
    reals = arguments.reals(arguments.dims)
    return [
        each if each.is_floating_point() or not each.dim() else each.roll(1, dims=each.dim() - 1)
        for each in reals
    ]


def _call(function: Callable[..., Any], arguments: Arguments, tensors: Sequence[Any]) -> list[Any]:
    copies = [each.detach().clone().requires_grad_(each.requires_grad) for each in tensors]
    args, kwargs = arguments.build(copies)
    with torch.enable_grad():
        leaves = internals.pytree.tree_leaves(function(*args, **kwargs))
    return [leaf.detach().clone() for leaf in leaves if isinstance(leaf, torch.Tensor)]


def _is_equal(found: Any, expected: Any) -> bool:
    return found.shape == expected.shape and torch.equal(found.nan_to_num(), expected.nan_to_num())
