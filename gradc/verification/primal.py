"""Values of a function in float64, by the names of a gradient request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.onnx import ops as onnx
from dialects.support import entry
from gradc.verification.evaluation import run_in_float64
from gradc.verification.kernels import Kernels
from gradc.verification.widening import wide, widen
from passes.autodiff.named_values import add_elements, values_by_name
from passes.builder.operands import replace_uses
from passes.builder.rewriting import drop_unread_nodes
from passes.qdq_to_float import compute_with_floats
from passes.simplify.folding import fold


def values_of(
    primal: ModuleOp,
    names: Sequence[str],
    inputs: Mapping[str, Any],
    wrt: Sequence[str] = (),
    straight_through: bool = False,
    kernel: Kernels | None = None,
) -> dict[str, np.ndarray]:
    """Return the values of `names`. Values that depend only on constants, `wrt` excepted, are rounded to
    their type, as in the gradient. Raises NotComputed."""
    module = primal.clone()
    if straight_through:
        compute_with_floats(module)
    function, values = named_values(module, names, wrt)
    given = dict(zip(function.args, entry.input_names(function), strict=True))
    _return(function, [values[name] for name in names])
    widen(module)
    arguments: dict[SSAValue, Any] = {a: wide(inputs[name]) for a, name in given.items()}
    return dict(zip(names, run_in_float64(module, arguments, kernel), strict=True))


def named_values(
    module: ModuleOp, names: Sequence[str], others: Sequence[str]
) -> tuple[FuncOp, dict[str, SSAValue]]:
    """Fold constants except the named values, add the elements among `names`; return all values by name."""
    _fold_constants(module, [*names, *others])
    function = entry.entry_function(module)
    values = values_by_name(function)
    return function, values | add_elements(function, names, values)


def _return(function: FuncOp, values: Sequence[Any]) -> None:
    last = entry.return_op(function)
    Rewriter.insert_op(ReturnOp(*values), InsertPoint.before(last))
    Rewriter.erase_op(last)
    drop_unread_nodes(function)
    entry.update_function_type(function)


def _fold_constants(module: ModuleOp, names: Sequence[str]) -> None:
    """Fold values that depend only on constants, except the named ones."""
    function = entry.entry_function(module)
    values = values_by_name(function)
    requested = [values[name] for name in dict.fromkeys(names) if name in values]
    block = function.body.block
    moved = [value for value in requested if isinstance(value.owner, onnx.ConstantOp)]
    instead = [block.insert_arg(value.type, len(block.args)) for value in moved]
    for value, argument in zip(moved, instead, strict=True):
        replace_uses(value, argument)
    fold(module, requested)
    for value, argument in zip(moved, instead, strict=True):
        replace_uses(argument, value)
        block.erase_arg(argument)
    entry.update_function_type(function)
