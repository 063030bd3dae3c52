"""jacobian: replace cotangents or tangents by the rows of an identity, and shape the results as blocks.

A function of cotangents c_i has results r_j = J_ij^T c_i; for all rows of an identity they are the rows of
J_ij. With tangents, r_j = J_ji c_i, and the rows are the columns of J_ji.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.onnx import ops as onnx
from dialects.onnx.values import constant_of
from dialects.support.entry import (
    entry_function,
    input_names,
    keep_argument_attributes,
    output_names,
    return_op,
    set_new_names,
    update_function_type,
)
from dialects.support.shapes import element_type_of, shape_of, static, static_shape
from passes.autodiff.pin_values import set_results
from passes.builder.captured_values import uses_by
from passes.builder.operands import replace_uses
from passes.builder.values import Value, ValueBuilder
from passes.vectorize.vectorize import vectorize

ROWS = "jacobian_rows"
"""Name of the size of the new axis, if it is dynamic."""

MOST = 2**31 - 1


@dataclass(frozen=True)
class JacobianPass(ModulePass):
    """Replace `inputs`, in order, by rows of one identity, and each of `results` by a block for each input.

    like: for each input, a result of its shape. columns: the blocks have the axes of the result first, else
    those of the input. The blocks follow the other results, those of the first input first; block
    `<result>_<input>` is of a result and an input.
    """

    name = "jacobian"

    inputs: tuple[str, ...]
    like: tuple[str, ...]
    results: tuple[str, ...]
    columns: bool = False
    strict_ieee: bool = False

    fallbacks: list[Operation] = field(default_factory=list[Operation], init=False, repr=False, compare=False)
    """The ops that are computed row by row."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        function = entry_function(op)
        count = _number_of_rows(self._like(function))
        arguments = _named(input_names(function), function.args)
        found = vectorize(
            function,
            [arguments[name] for name in self.inputs],
            ROWS if count is None else count,
            expand=[name in self.results for name in output_names(function)],
            strict_ieee=self.strict_ieee,
        )
        self.fallbacks.extend(found.fallbacks)
        rows = self._seed(function)
        self._shape_results(function, rows)
        update_function_type(function)

    def _like(self, function: FuncOp) -> list[SSAValue]:
        results = _named(output_names(function), return_op(function).arguments)
        return [results[name] for name in self.like]

    def _seed(self, function: FuncOp) -> list[Value]:
        """Replace the inputs by rows of an identity; return the first row of each, and the number of all."""
        block, e = function.body.block, ValueBuilder()
        counts = [_size_of(e, e(value)) for value in self._like(function)]
        firsts = [e.ints([0])]
        for count in counts:
            firsts.append(_add(e, firsts[-1], count))
        names = input_names(function)
        arguments = dict(zip(names, function.args, strict=True))
        for name, like, first, count in zip(self.inputs, self._like(function), firsts, counts, strict=False):
            argument = arguments[name]
            seed = _identity_rows(e, firsts[-1], first, count, element_type_of(argument))
            shape = e.concat([firsts[-1], e.shape(e(like))], 0)
            shaped = seed.apply(onnx.ReshapeOp, shape, allowzero=1).assume_shape(shape_of(argument))
            replace_uses(argument, shaped.value)
        first_op = block.first_op
        assert first_op is not None
        Rewriter.insert_op(e.emit.ops, InsertPoint.before(first_op))
        _sort(block)
        keep_argument_attributes(function, [name not in self.inputs for name in names])
        for name in self.inputs:
            block.erase_arg(arguments[name])
        return firsts

    def _shape_results(self, function: FuncOp, firsts: Sequence[Value]) -> None:
        e, results = ValueBuilder(), _named(output_names(function), return_op(function).arguments)
        kept = {name: value for name, value in results.items() if name not in self.results}
        blocks = {
            f"{result}_{name}": self._block(e, e(results[result]), e(like), first, last)
            for name, like, first, last in zip(
                self.inputs, self._like(function), firsts, firsts[1:], strict=False
            )
            for result in self.results
        }
        set_results(function, e, [*kept.values(), *(value.value for value in blocks.values())])
        names = [name for name in input_names(function) if name not in self.inputs]
        set_new_names(function, names, [*kept, *blocks])

    def _block(self, e: ValueBuilder, rows: Value, like: Value, first: Value, last: Value) -> Value:
        """Return the rows of one input in the shape of a block."""
        own, row = e.shape(like), rows.apply(onnx.ShapeOp).apply(onnx.SliceOp, e.ints([1]), e.ints([MOST]))
        known = shape_of(rows.value)[1:]
        row = e.ints(sizes) if (sizes := static(known)) is not None else row
        part = rows if len(self.inputs) == 1 else rows.apply(onnx.SliceOp, first, last, e.ints([0]))
        if not self.columns:
            shaped = part.apply(onnx.ReshapeOp, e.concat([own, row], 0), allowzero=1)
            return shaped.assume_shape((*shape_of(like.value), *known))
        moved = part.transpose([*range(1, len(known) + 1), 0])
        shaped = moved.apply(onnx.ReshapeOp, e.concat([row, own], 0), allowzero=1)
        return shaped.assume_shape((*known, *shape_of(like.value)))


def _named(names: Sequence[str], values: Sequence[SSAValue]) -> dict[str, SSAValue]:
    return dict(zip(names, values, strict=True))


def _number_of_rows(likes: Sequence[SSAValue]) -> int | None:
    """Return the number of elements of all values; None if it is dynamic."""
    shapes = [static_shape(value) for value in likes]
    known = [prod(shape) for shape in shapes if shape is not None]
    return sum(known) if len(known) == len(shapes) else None


def _size_of(e: ValueBuilder, value: Value) -> Value:
    """Return the number of elements as a vector of one."""
    shape = static_shape(value.value)
    return value.apply(onnx.SizeOp).unsqueeze([0]) if shape is None else e.ints([prod(shape)])


def _add(e: ValueBuilder, a: Value, b: Value) -> Value:
    known = [constant_of(one.value) for one in (a, b)]
    if all(one is not None for one in known):
        return e.ints([sum(int(one[0]) for one in known if one is not None)])
    return a + b


def _identity_rows(e: ValueBuilder, rows: Value, first: Value, count: Value, dtype: Attribute) -> Value:
    """Return `count` columns of an identity of `rows`, from column `first` on."""
    row, column = _numbers(e, e.ints([0]), rows), _numbers(e, first, _add(e, first, count))
    return row.unsqueeze([1]).equals(column.unsqueeze([0])).cast(dtype)


def _numbers(e: ValueBuilder, first: Value, last: Value) -> Value:
    one = e(e.emit.constant(np.array(1, np.int64)))
    return first.squeeze([0]).apply(onnx.RangeOp, last.squeeze([0]), one)


def _sort(block: Block) -> None:
    """Move each op behind those that it reads, otherwise in their order."""
    done: set[Operation] = set()
    for op in list(block.ops):
        _place(op, block, done)


def _place(op: Operation, block: Block, done: set[Operation]) -> None:
    """Move an op and those that it reads to the end of the block."""
    stack = [op]
    while stack:
        top = stack[-1]
        read = (use.operation.operands[use.index].owner for use in uses_by(top))
        missing = [
            one for one in read if isinstance(one, Operation) and one.parent is block and one not in done
        ]
        if missing:
            stack += missing
            continue
        stack.pop()
        if top not in done:
            done.add(top)
            top.detach()
            block.add_op(top)
