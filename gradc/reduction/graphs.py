"""Removal of parts of a graph: each function returns a smaller copy of a module.

The copy may be invalid; ValueError if nothing remains.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from dialects.onnx.ops import ConstantOp
from dialects.support import entry, shapes
from dialects.support.constants import constant_attribute, constant_value


def operations(module: ModuleOp) -> list[Operation]:
    """Return the ops except constants and the return."""
    block = entry.entry_function(module).body.block
    return [op for op in block.ops if not isinstance(op, ReturnOp) and not _is_constant(op)]


def constants(module: ModuleOp) -> list[Operation]:
    return list(filter(_is_constant, entry.entry_function(module).body.block.ops))


def outputs(module: ModuleOp) -> int:
    return len(entry.return_op(entry.entry_function(module)).arguments)


def with_operations(module: ModuleOp, kept: Collection[int]) -> ModuleOp:
    """Keep only the ops with these numbers. Results of removed ops become inputs, unused results outputs."""
    copy = module.clone()
    function = entry.entry_function(copy)
    for number, op in reversed(list(enumerate(operations(copy)))):
        if number not in kept:
            _cut(function, op)
    unread = [op for op in operations(copy) if not any(result.uses for result in op.results)]
    _return(function, [*entry.return_op(function).arguments, *(r for op in unread for r in op.results)])
    _tidy(function)
    return copy


def with_outputs(module: ModuleOp, kept: Collection[int]) -> ModuleOp:
    """Keep only the outputs with these numbers, and the ops they need."""
    copy = module.clone()
    function = entry.entry_function(copy)
    values = entry.return_op(function).arguments
    _return(function, [value for number, value in enumerate(values) if number in kept])
    for op in reversed(operations(copy)):
        if not any(result.uses for result in op.results):
            _erase(op)
    _tidy(function)
    return copy


def with_input_for(module: ModuleOp, number: int) -> ModuleOp:
    """Replace the constant with this number by an input."""
    copy = module.clone()
    function = entry.entry_function(copy)
    _cut(function, constants(copy)[number])
    _tidy(function)
    return copy


def with_splat_for(module: ModuleOp, number: int) -> ModuleOp:
    """Replace all elements of the constant with this number by one."""
    copy = module.clone()
    op = constants(copy)[number]
    splat = ConstantOp(np.ones_like(_array(op)))
    splat.results[0].name_hint = op.results[0].name_hint
    block = op.parent_block()
    assert block is not None
    block.insert_op_before(splat, op)
    op.results[0].replace_all_uses_with(splat.results[0])
    _erase(op)
    return copy


def is_data(op: Operation) -> bool:
    """Return whether a constant is data, not a size or an axis."""
    return _array(op).dtype.kind not in "iub"


def is_splat(op: Operation) -> bool:
    array = _array(op)
    return array.size == 0 or bool((array == array.flat[0]).all())


def _array(op: Operation) -> np.ndarray:
    array = constant_value(op.results[0])
    assert array is not None
    return array


def refresh(function: FuncOp) -> None:
    """Update the function's type and the public names."""
    entry.update_function_type(function)
    function.arg_attrs = function.res_attrs = None
    entry.set_names(function, entry.input_names(function), entry.output_names(function))


def _is_constant(op: Operation) -> bool:
    return len(op.results) == 1 and constant_attribute(op.results[0]) is not None


def _cut(function: FuncOp, op: Operation) -> None:
    """Remove an op; uses of its results read a new input."""
    returned = entry.return_op(function).arguments
    _return(function, [value for value in returned if value.owner is not op])
    for result in op.results:
        if result.uses:
            argument = function.body.block.insert_arg(result.type, len(function.args))
            argument.name_hint = result.name_hint
            result.replace_all_uses_with(argument)
    _erase(op)


def _return(function: FuncOp, values: list[SSAValue]) -> None:
    entry.return_op(function).operands = list(dict.fromkeys(values))


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()


def _tidy(function: FuncOp) -> None:
    """Remove unused constants and inputs, and outputs that are inputs."""
    block = function.body.block
    returned = entry.return_op(function).arguments
    computed = [value for value in returned if isinstance(value.owner, Operation)]
    if not computed:
        raise ValueError("nothing is left")
    _return(function, computed)
    for op in list(block.ops):
        if _is_constant(op) and not op.results[0].uses:
            _erase(op)
    for argument in list(block.args):
        if not argument.uses:
            block.erase_arg(argument)
    refresh(function)


def size(module: ModuleOp) -> int:
    """Return the number of elements of all inputs, counting dynamic dims as one."""
    arguments = entry.entry_function(module).args
    return sum(_elements(shapes.shape_of(argument)) for argument in arguments)


def _elements(shape: shapes.Shape) -> int:
    return int(np.prod([dim if isinstance(dim, int) else 1 for dim in shape], dtype=object))
