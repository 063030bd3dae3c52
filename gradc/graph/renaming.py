"""Renaming of a graph's inputs, outputs and weights."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp

from dialects.onnx.ops import ConstantOp
from dialects.support.diagnostics import UsageError, suggest, usage
from dialects.support.entry import entry_function, input_names, output_names, set_names
from dialects.support.names import hint_of, is_text, name_of_value
from dialects.support.option_names import option


def rename_edges(module: ModuleOp, names: Mapping[str, str]) -> ModuleOp:
    """Rename inputs and outputs of a module, in place. Raises UsageError."""
    if not names:
        return module
    function = entry_function(module)
    inputs, outputs = input_names(function), output_names(function)
    for name, new in names.items():
        _check(name, new, [*inputs, *outputs])
    called = [[names.get(name, name) for name in given] for given in (inputs, outputs)]
    for given, old in zip(called, (inputs, outputs), strict=True):
        for index, name in enumerate(given):
            if name in given[:index] and old.index(old[index]) == index:
                raise _rename_error(f"{old[index]}={name}", f"a name that no other has; {name} is taken")
    if taken := set(called[0]) & set(called[1]) - (set(inputs) & set(outputs)):
        raise _rename_error(min(taken), "different names for inputs and outputs")
    set_names(function, *called)
    return module


def rename_weights(module: ModuleOp, names: Mapping[str, str]) -> None:
    """Rename constants of a module, in place. Raises UsageError for an unknown name and a taken one."""
    if not names:
        return
    function = entry_function(module)
    edges = [*input_names(function), *output_names(function)]
    ops = function.body.block.ops
    weights = {name_of_value(op.output): op.output for op in ops if isinstance(op, ConstantOp)}
    for name, new in names.items():
        _check(name, new, list(weights), "an input, an output or a weight of the model")
        if new in (*edges, *weights):
            raise _rename_error(f"{name}={new}", f"a name that no other has; {new} is taken")
        weights[name].name_hint = hint_of(new)
        weights[new] = weights.pop(name)


def _check(name: str, new: str, known: list[str], expected: str = "") -> None:
    if name not in known:
        hint = suggest(name, known)
        raise _rename_error(f"{name}={new}", expected or f"an input or output: {', '.join(known)}", hint)
    if not isinstance(new, str) or not new or not is_text(new):
        raise _rename_error(f"{name}={new}", "a name, not empty and of text that UTF-8 can spell")


def _rename_error(given: str, expected: str, hint: str = "") -> UsageError:
    return usage(option("rename"), given, expected, hint)
