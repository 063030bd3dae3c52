"""Renaming and scaling of the results of a derivative."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, f64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.support import entry
from dialects.support.diagnostics import Diagnostic, UsageError, sentence, suggest
from dialects.support.option_names import option
from dialects.support.shapes import element_type_of
from gradc.graph.renaming import rename_edges
from gradc.util import arguments
from passes.autodiff.activity.active_values import is_float
from passes.autodiff.named_values import add_elements, values_by_name
from passes.autodiff.pin_values import set_results
from passes.builder.locations import place_by_operands
from passes.builder.values import Builder

NAMES = "a mapping from names to names"
NUMBERS = "a mapping from names of results to numbers"


def edge_names(module: ModuleOp) -> list[str]:
    """Return the names of a module's inputs and outputs."""
    function = entry.entry_function(module)
    return [*entry.input_names(function), *entry.output_names(function)]


def with_source_names(module: ModuleOp, names: Mapping[str, str]) -> ModuleOp:
    """Rename inputs and outputs of a source; names of results are ignored here."""
    known = set(edge_names(module))
    return rename_edges(module, {old: new for old, new in names.items() if old in known})


def rename_results(
    module: ModuleOp, names: Mapping[str, str], of_source: Collection[str]
) -> Mapping[str, str]:
    """Rename inputs and outputs of a gradient in place, except names in `of_source`; return the new names.

    Raises UsageError for a name that neither the source nor the gradient has.
    """
    left, known = {old: new for old, new in names.items() if old not in of_source}, edge_names(module)
    for old, new in left.items():
        if old not in known:
            expected = f"an input or output of the source or of its gradient: {', '.join(known)}"
            hint = suggest(old, {*of_source, *known})
            raise UsageError(Diagnostic("error", sentence(option("rename"), f"{old}={new}", expected, hint)))
    rename_edges(module, left)
    return left


def scale_results(
    module: ModuleOp, results: Sequence[str], scales: Mapping[str, float]
) -> Mapping[str, float]:
    """Multiply results of a module by factors, in their dtypes and in place; return the factors of `results`
    as they are rounded.

    Raises UsageError for a name that is no result, and for a result that is no float tensor.
    """
    if not scales:
        return {}
    function = entry.entry_function(module)
    names, last, e = entry.output_names(function), entry.return_op(function), Builder()
    values = dict(zip(names, last.arguments, strict=True))
    for name, factor in scales.items():
        if name not in values:
            expected = f"a result of the gradient: {', '.join(names)}"
            raise _scale_error(f"{name}={factor:g}", expected, suggest(name, names))
        if not is_float(values[name]):
            raise _scale_error(f"{name}={factor:g}", "a result that is a tensor of floats")
        values[name] = (e(values[name]) * factor).value
    place_by_operands(e.emit.ops, function.body.block, "scaled")
    Rewriter.insert_op([*e.emit.ops, ReturnOp(*values.values())], InsertPoint.before(last))
    Rewriter.erase_op(last)
    entry.update_function_type(function)
    gradients = {name for name in results if name in scales}
    exact = {name for name in gradients if element_type_of(values[name]) == f64}
    return {name: scales[name] if name in exact else float(np.float32(scales[name])) for name in gradients}


def add_results(function: FuncOp, names: Iterable[str], prefix: str) -> dict[str, str]:
    """Let a function also return values and elements; return the names of the results, with a prefix."""
    values, results = values_by_name(function), results_of(function)
    names = list(dict.fromkeys(names))
    values = {**values, **add_elements(function, names, values)}
    added = {name: f"{prefix}{name}" for name in names if name in values}
    set_results_of(function, {**results, **{added[name]: values[name] for name in added}})
    return added


def add_axes(function: FuncOp, names: Collection[str], count: int) -> None:
    """Give results leading axes of size 1."""
    e, results = Builder(), results_of(function)
    shaped = {name: e(results[name]).unsqueeze(list(range(count))).value for name in names}
    set_results_of(function, {**results, **shaped}, e)


def results_of(function: FuncOp) -> dict[str, SSAValue]:
    """Return the results of a function by name."""
    return dict(zip(entry.output_names(function), entry.return_op(function).arguments, strict=True))


def set_results_of(function: FuncOp, results: Mapping[str, SSAValue], e: Builder | None = None) -> None:
    """Insert the ops of `e` at the end of a function, and return `results` instead."""
    inputs = entry.input_names(function)
    set_results(function, Builder() if e is None else e, list(results.values()))
    entry.set_new_names(function, inputs, list(results))
    entry.update_function_type(function)


def validate_names(given: Any) -> dict[str, str]:
    """Validate `rename`. Raises UsageError."""
    return dict(arguments.mapping("rename", {} if given is None else given, NAMES))


def validate_scales(given: Any) -> dict[str, float]:
    """Validate `scale`. Raises UsageError unless all factors are finite numbers."""
    found = arguments.mapping("scale", {} if given is None else given, NUMBERS)
    for name, factor in found.items():
        is_number = isinstance(factor, int | float | np.number) and not isinstance(factor, bool)
        if not is_number or not math.isfinite(factor):
            raise _scale_error(f"{name}={factor}", "a finite number")
    return {name: float(factor) for name, factor in found.items()}


def _scale_error(given: str, expected: str, hint: str = "") -> UsageError:
    return UsageError(Diagnostic("error", sentence(option("scale"), given, expected, hint)))
