"""Exact results of a module in float64, and the magnitudes of their terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import Rewriter

from dialects.evaluate import evaluate
from dialects.support import entry
from dialects.support.constants import constant_value
from gradc.terminal import progress
from gradc.verification.widening import widen

Arrays = tuple[np.ndarray, ...]


def exact(module: ModuleOp, inputs: Sequence[np.ndarray]) -> Arrays:
    """Return the outputs, computed in float64 without rounding to other types between ops."""
    return _evaluate_with(module, inputs, np.asarray)


def term_magnitudes(module: ModuleOp, inputs: Sequence[np.ndarray]) -> Arrays:
    """Return, for each output element, the sum of the magnitudes of its terms: `exact` of all magnitudes."""
    return _evaluate_with(module, inputs, np.abs)


def _evaluate_with(
    module: ModuleOp, inputs: Sequence[np.ndarray], change: Callable[[np.ndarray], np.ndarray]
) -> Arrays:
    """Evaluate a module with `change` applied to all float inputs and constants in float64."""
    opened, constants = _with_constants_as_inputs(module)
    widen(opened)
    given = [a if a.dtype.kind in "iub" else change(a.astype(np.float64)) for a in (*inputs, *constants)]
    with np.errstate(all="ignore"):
        return evaluate(opened, given, progress.show)


def _with_constants_as_inputs(module: ModuleOp) -> tuple[ModuleOp, list[np.ndarray]]:
    """Return a copy whose float constants are additional arguments, and their values."""
    module = module.clone()
    function = entry.entry_function(module)
    block, values = function.body.block, []
    for op in list(block.ops):
        value = constant_value(op.results[0]) if op.results else None
        if value is None or value.dtype.kind in "iub":
            continue
        (result,) = op.results
        result.replace_all_uses_with(block.insert_arg(result.type, len(block.args)))
        Rewriter.erase_op(op)
        values.append(value)
    function.arg_attrs = None
    entry.update_function_type(function)
    return module, values
