"""Weights as inputs, so that a model reads the parameters that training changes."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.func import FuncOp

from dialects.support.entry import update_function_type
from passes.autodiff.named_values import values_by_name
from passes.autodiff.pin_values import keep_as_inputs, pin


def weights_as_inputs(function: FuncOp, names: Iterable[str]) -> None:
    """Turn the constants of these names into trailing inputs, whose defaults they are, in place."""
    values = values_by_name(function)
    pinned = pin(function, {name: values[name] for name in names if name in values})
    keep_as_inputs(function, list(pinned.values()))
    update_function_type(function)
