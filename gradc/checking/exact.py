"""What a module gives in float64, of its inputs and constants as they are, and how large its terms are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import Rewriter

from dialects.evaluate import evaluate
from dialects.support import entry
from dialects.support.constants import constant_value
from gradc.terminal import progress

Arrays = tuple[np.ndarray, ...]


def exact(module: ModuleOp, inputs: Sequence[np.ndarray]) -> Arrays:
    """The outputs, accumulated in float64 and never rounded to another type, not between ops either."""
    return _evaluated(module, inputs, np.asarray)


def magnitudes(module: ModuleOp, inputs: Sequence[np.ndarray]) -> Arrays:
    """For each element of the outputs the sum of the magnitudes of its terms: `exact` of all magnitudes."""
    return _evaluated(module, inputs, np.abs)


def _evaluated(
    module: ModuleOp, inputs: Sequence[np.ndarray], change: Callable[[np.ndarray], np.ndarray]
) -> Arrays:
    """The module on what `change` makes of every float of its inputs and constants, as float64.

    The reference computes in float64 and rounds to the type of the arrays that it is given.
    """
    opened, constants = _with_constants_as_inputs(module)
    given = [a if a.dtype.kind in "iub" else change(a.astype(np.float64)) for a in (*inputs, *constants)]
    with np.errstate(all="ignore"):
        return evaluate(opened, given, progress.show)


def _with_constants_as_inputs(module: ModuleOp) -> tuple[ModuleOp, list[np.ndarray]]:
    """A copy whose constants of float type are further arguments, and their values."""
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
