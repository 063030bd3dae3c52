"""name-sizes: give every unknown size a symbol, one per value and axis.

Sizes computed from them are then known to be equal: the sum of two tensors with the same unknown size has
that size, and no second Shape is needed. Fresh symbols exist only within the passes: `merge_equal` ignores
them, and they are not exported.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from dialects.shapes.forms import Fresh, Size, fresh
from dialects.support.error_list import Errors
from dialects.support.interfaces import InfersTypes, refine_results, set_type
from dialects.support.shapes import element_type_of, shape_of, tensor_type
from passes.builder.rewriting import functions, refresh_function_types


@dataclass(frozen=True)
class NameSizesPass(ModulePass):
    name = "name-sizes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        name_sizes(op)


def name_sizes(module: ModuleOp) -> None:
    for function in functions(module):
        if not _is_known(function):
            _name_sizes(function)
    refresh_function_types(module)


def _name_sizes(function: FuncOp) -> None:
    """Infer types with the symbols of operands. Values in nested regions get none: sizes in a loop's body may
    vary."""
    numbers = count(1 + max(_numbers(function), default=0))
    _name(function.body.block.args, numbers)
    errors = Errors()
    for op in function.body.block.ops:
        with errors.collecting():
            if isinstance(op, InfersTypes) and any(map(_is_open, op.results)):
                refine_results(op)
        _name(op.results, numbers)
    errors.check()


def _is_known(function: FuncOp) -> bool:
    """Return whether no value has an unknown size. Most values share their types."""
    block = function.body.block
    values = itertools.chain(block.args, *(op.results for op in block.ops))
    types = {id(value.type): value for value in values}
    return not any(map(_is_open, types.values()))


def _is_open(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and None in shape_of(value)


def _name(values: Iterable[SSAValue], numbers: Iterator[int]) -> None:
    for value in values:
        if not _is_open(value):
            continue
        named = [fresh(next(numbers)) if dim is None else dim for dim in shape_of(value)]
        set_type(value, tensor_type(element_type_of(value), named))


def _numbers(function: FuncOp) -> Iterable[int]:
    """Yield the numbers of the fresh symbols in use."""
    for block in (block for region in function.walk() for part in region.regions for block in part.blocks):
        values = (*block.args, *(result for op in block.ops for result in op.results))
        types = {value.type for value in values if isinstance(value.type, TensorType)}
        dims = (dim for type_ in types for dim in shape_of(type_) if isinstance(dim, Size))
        yield from (leaf.number for dim in dims for leaf in dim.leaves if isinstance(leaf, Fresh))
