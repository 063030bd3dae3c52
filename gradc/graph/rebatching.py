"""Change of a fixed batch size.

The batch is the leading dim of the first input. A probe replaces it by a size that occurs nowhere else,
infers all types, and so finds the ops whose constants repeat the batch; they are rewritten for the new size.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from dialects.support import entry
from dialects.support.diagnostics import Diagnostic, UsageError, usage
from dialects.support.option_names import option
from dialects.support.shapes import Dim, DimLike, has_rank, shape_of, show
from gradc.graph.batch_axes import PROBE, batch_axes
from gradc.graph.batch_preparation import prepare_batch
from gradc.graph.batch_probe import (
    Initial,
    NeedsBatch,
    Probe,
    forget_results,
    set_dims,
    set_leading_dims,
    shapes_by_value,
)
from gradc.graph.batch_repairs import Batch
from passes.infer_types import infer_types


def change_batch(module: ModuleOp, size: int | str) -> ModuleOp:
    """Change the batch of a module to a size, or to a named dynamic dim.

    Raises UsageError for a graph without a fixed batch, and UnsupportedError at an op that prevents it.
    """
    function = entry.entry_function(module)
    arguments, before = _batch_inputs(function, size)
    check_new_size(function, "rebatch", size)
    return set_batch(module, arguments, before, size, option("rebatch", size))


def set_batch(
    module: ModuleOp, arguments: Sequence[int], before: int, size: int | str, what: str
) -> ModuleOp:
    """Change the leading dim of some arguments of a module from one size to another.

    Raises UnsupportedError, which begins with `what`, at an op that prevents it.
    """
    function, probe = entry.entry_function(module), _probe(module, arguments, before, what)
    batch = Batch(size, before, shapes_by_value(function), function.args[arguments[0]])
    ops = list(function.walk())
    set_leading_dims(function, arguments, size)
    for op, probed in zip(ops, probe.ops, strict=True):
        if op.regions and op is not function:
            _resize_values(op, probed, size)
    for index, repairs in probe.repairs.items():
        for repair in repairs:
            repair.apply(ops[index], batch)
    infer_again(module)
    return module


def probe_batch(module: ModuleOp, arguments: Sequence[int], before: int, what: str) -> ModuleOp:
    """Return a copy of a module whose batch is PROBE instead of a fixed one; raises as `set_batch`."""
    found = _probe(module, arguments, before, what).function.parent_op()
    assert isinstance(found, ModuleOp)
    return found


def _probe(module: ModuleOp, arguments: Sequence[int], before: int, what: str) -> Probe:
    """Return the finished probe of a module, which is prepared before."""
    prepare_batch(module)
    initial: dict[Initial, int] = {}
    while True:
        probe = Probe(entry.entry_function(module.clone()), arguments, what, before, initial)
        try:
            probe.run()
        except NeedsBatch as needed:
            initial[needed.initial] = needed.axis
        else:
            return probe


def _resize_values(op: Operation, probed: Operation, size: int | str) -> None:
    """Set the batch of an op's results and of its bodies' arguments, as found by the probe."""
    for own, found in zip(_body_values(op), _body_values(probed), strict=True):
        dims = {axis: _resize(shape_of(found)[axis], size) for axis in batch_axes(found)}
        if dims:
            set_dims(own, dims)


def _body_values(op: Operation) -> list[SSAValue]:
    return [*op.results, *(value for region in op.regions for value in region.block.args)]


def _resize(dim: Dim, size: int | str) -> DimLike:
    """Return the new size of a dim of the probe; None for a dynamic multiple of the batch."""
    if dim == PROBE:
        return size
    return dim // PROBE * size if isinstance(dim, int) and isinstance(size, int) else None


def infer_again(module: ModuleOp) -> None:
    """Infer all types of a module from those of its arguments."""
    function = entry.entry_function(module)
    for op in function.walk():
        forget_results(op)
    infer_types(module)
    entry.drop_declared_types(function)
    entry.update_function_type(function)


def _batch_inputs(function: FuncOp, size: int | str) -> tuple[list[int], int]:
    """Return the indices of the inputs whose leading dim is the batch, and the batch size."""
    named = zip(entry.input_names(function), function.args, strict=True)
    defaults = entry.defaults(function)
    leading = {
        index: shape_of(value)[0]
        for index, (name, value) in enumerate(named)
        if name not in defaults and has_rank(value) and shape_of(value)
    }
    what = option("rebatch", size)
    if not leading:
        raise UsageError(Diagnostic("error", f"{what}: no input has a leading dim"))
    first, before = next(iter(leading.items()))
    if not isinstance(before, int) or not before:
        name, shape = entry.input_names(function)[first], show(shape_of(function.args[first]))
        hint = f"{option('static_shapes')} alone gives a dynamic batch a size"
        raise usage(what, f"{name} {shape}", "an input with a fixed batch", hint)
    return [index for index, dim in leading.items() if dim == before], before


def check_new_size(function: FuncOp, what: str, size: int | str) -> None:
    """Raise UsageError if an option gives a new size the name of another dim."""
    dims = [str(dim) for value in function.args if has_rank(value) for dim in shape_of(value) if dim]
    if isinstance(size, str) and size in dims:
        given, expected = option(what, size), "a name that no other dim has"
        raise usage(given, expected=expected)
