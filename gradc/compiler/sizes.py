"""The options `rebatch` and `static_shapes`, applied before a source is compiled or differentiated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from dialects.support import entry, shapes
from dialects.support.diagnostics import suggest, usage
from dialects.support.error_list import Errors
from dialects.support.names import is_text
from dialects.support.option_names import option
from gradc.graph.run_time_sizes import specialize
from gradc.util import arguments

Shapes = Mapping[str, Sequence[int]]


def resize_inputs(module: ModuleOp, rebatch: int | str | None, static_shapes: Shapes) -> ModuleOp:
    """Change the batch of a module, then the shapes of its inputs. Raises GradcError."""
    if rebatch is not None:
        from gradc.graph.rebatching import change_batch  # loads what differentiates loops

        module = change_batch(module, rebatch)
    return with_static_shapes(module, static_shapes) if static_shapes else module


def with_static_shapes(module: ModuleOp, static_shapes: Shapes) -> ModuleOp:
    """Return the module with the given input shapes. Raises GradcError if its types contradict them."""
    function = entry.entry_function(module)
    known = dict(zip(entry.input_names(function), function.args, strict=True))
    errors = Errors()
    for name, shape in static_shapes.items():
        errors.attempt(_check_shape, name, shape, known)
    errors.check()
    given = {name: tuple(shape) for name, shape in static_shapes.items()}
    specialize(module, given, {})  # verifies the graph
    module = specialize(module, given, {}, regions=True)
    entry.drop_declared_types(entry.entry_function(module))
    return module


def validate_rebatch(given: Any) -> int | str | None:
    """Validate `rebatch`: a size of 1 or more, or a name. Raises UsageError."""
    if given is None or (isinstance(given, str) and given and is_text(given) and not given.isdecimal()):
        return given
    if isinstance(given, str):
        raise arguments.invalid("rebatch", given, "a size, or a name for a dynamic size")
    return arguments.whole_number("rebatch", given, 1)


def validate_static_shapes(given: Any) -> dict[str, tuple[int, ...]]:
    """Validate `static_shapes`. Raises UsageError."""
    if given is None:
        return {}
    expected = "a mapping from names of inputs to sizes"
    found = arguments.mapping("static_shapes", given, expected)
    if any(isinstance(shape, str) or not isinstance(shape, Iterable) for shape in found.values()):
        raise arguments.invalid("static_shapes", given, expected)
    return {
        name: tuple(arguments.whole_number("static_shapes", size, part=f"of {name}") for size in shape)
        for name, shape in found.items()
    }


def _check_shape(name: str, shape: Sequence[int], known: Mapping[str, SSAValue]) -> None:
    what = option("static_shapes")
    if name not in known:
        hint = suggest(name, known)
        expected = f"one of the inputs {', '.join(known)}"
        raise usage(what, name, expected, hint)
    if not shapes.has_rank(known[name]):
        return
    declared = shapes.shape_of(known[name])
    if not shapes.compatible(declared, tuple(shape)):
        given = shapes.show(tuple(shape))
        raise usage(f"{what} of {name}", given, shapes.show(declared))
