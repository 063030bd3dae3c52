"""Replacement of graph inputs by constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument

from dialects.onnx.ops import ConstantOp
from dialects.support import entry
from dialects.support.diagnostics import location, several, suggest, violation
from dialects.support.error_list import Errors
from dialects.support.option_names import option
from gradc.graph.tensors import as_dtype, tensor_info, validate_inputs
from gradc.util.arguments import array


def bind_constants(module: ModuleOp, constants: Mapping[str, Any]) -> None:
    """Replace the named inputs by constants, in place.

    Raises GradcError for a name that is no input, and for an array that does not fit its input.
    """
    function = entry.entry_function(module)
    inputs, outputs = entry.input_names(function), entry.output_names(function)
    errors = Errors()
    arguments = dict(zip(inputs, function.args, strict=True))
    for name, given in constants.items():
        if name in inputs:
            errors.attempt(_bind, function, name, arguments[name], given)
            continue
        expected, hint = f"one of the inputs {several(inputs)}", suggest(name, inputs)
        errors.found.append(violation(option("constants"), given=name, expected=expected, hint=hint))
    errors.check()
    kept = [name for name in inputs if name not in constants]
    entry.update_function_type(function)
    entry.set_new_names(function, kept, outputs)


def _bind(function: FuncOp, name: str, argument: BlockArgument, given: Any) -> None:
    info = tensor_info(name, argument)
    array = validate_inputs([info], {name: as_dtype(_array(name, given), info.dtype)})[name]
    constant = ConstantOp(array)
    constant.location = location(name)
    constant.results[0].name_hint = argument.name_hint
    block = function.body.block
    first = block.first_op
    assert first is not None
    block.insert_op_before(constant, first)
    argument.replace_all_uses_with(constant.results[0])
    block.erase_arg(argument)


def _array(name: str, given: Any) -> np.ndarray:
    try:
        return array(given)
    except ValueError as error:
        raise violation(f"constant {name} is no array: {error}") from None
