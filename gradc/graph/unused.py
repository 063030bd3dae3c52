"""Inputs of a graph of which its model reads nothing."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp

from dialects.support import entry
from dialects.support.diagnostics import Diagnostic, position_of, several
from dialects.support.spelling import advice


def unused_inputs(module: ModuleOp) -> tuple[str, ...]:
    """The names of the inputs that no op of a module reads, and no output is; not those with a default."""
    function = entry.entry_function(module)
    names, defaults = zip(entry.input_names(function), function.args, strict=True), entry.defaults(function)
    return tuple(name for name, argument in names if not argument.uses and name not in defaults)


def drop_unused_inputs(module: ModuleOp) -> None:
    """Take them out of the function, in place; what stays keeps its name."""
    function = entry.entry_function(module)
    inputs, outputs = entry.input_names(function), entry.output_names(function)
    unused = set(unused_inputs(module))
    for name, argument in list(zip(inputs, function.args, strict=True)):
        if name in unused:
            function.body.block.erase_arg(argument)
    entry.update_function_type(function)
    entry.keep_arguments(function, [name not in unused for name in inputs])
    entry.set_names(function, [name for name in inputs if name not in unused], outputs)


def unused_remarks(module: ModuleOp) -> Iterator[Diagnostic]:
    """A remark that names them, where there are any."""
    names = unused_inputs(module)
    if not names:
        return
    what, them = ("input", "it") if len(names) == 1 else ("inputs", "them")
    message = f"the model reads nothing of the {what} {several(names)}, and must be fed {them} all the same"
    hint = advice("drop_unused_inputs", f"leaves {them} out", True)
    yield Diagnostic(
        "remark", "; ".join(filter(None, (message, hint))), position=position_of(entry.entry_function(module))
    )
