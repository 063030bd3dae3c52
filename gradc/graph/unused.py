"""Unused inputs of a graph."""

from __future__ import annotations

from collections.abc import Container, Iterator

from xdsl.dialects.builtin import ModuleOp

from dialects.support import entry
from dialects.support.diagnostics import Diagnostic, position_of, several
from dialects.support.option_names import advice


def unused_inputs(module: ModuleOp) -> tuple[str, ...]:
    """Return the names of the inputs without a default that neither an op nor an output uses."""
    function = entry.entry_function(module)
    names, defaults = zip(entry.input_names(function), function.args, strict=True), entry.defaults(function)
    return tuple(name for name, argument in names if not argument.uses and name not in defaults)


def drop_unused_inputs(module: ModuleOp) -> None:
    """Remove the unused inputs from the function, in place; the others keep their names."""
    function = entry.entry_function(module)
    inputs, outputs = entry.input_names(function), entry.output_names(function)
    unused = set(unused_inputs(module))
    for name, argument in list(zip(inputs, function.args, strict=True)):
        if name in unused:
            function.body.block.erase_arg(argument)
    entry.update_function_type(function)
    entry.keep_argument_attributes(function, [name not in unused for name in inputs])
    entry.set_names(function, [name for name in inputs if name not in unused], outputs)


def unused_remarks(module: ModuleOp, but: Container[str] = ()) -> Iterator[Diagnostic]:
    """Yield a remark that names the unused inputs except those of `but`, if there are any."""
    names = tuple(name for name in unused_inputs(module) if name not in but)
    if not names:
        return
    what, are, them = ("input", "is", "it") if len(names) == 1 else ("inputs", "are", "them")
    message = f"{what} {several(names)} {are} unused but still required"
    hint = advice("drop_unused_inputs", f"removes {them}", True)
    yield Diagnostic(
        "remark", "; ".join(filter(None, (message, hint))), position=position_of(entry.entry_function(module))
    )
