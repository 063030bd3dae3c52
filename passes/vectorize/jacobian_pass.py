"""jacobian: replace cotangents or tangents by the rows of an identity, and shape the results as blocks.

A function of cotangents c_i has results r_j = J_ij^T c_i; for all rows of an identity they are the rows of
J_ij. With tangents, r_j = J_ji c_i, and the rows are the columns of J_ji.
"""

from __future__ import annotations

import itertools
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
from dialects.onnx.dims import TO_THE_END
from dialects.onnx.values import constant_of
from dialects.shapes.forms import Name, Size
from dialects.support.diagnostics import Diagnostic, UnsupportedError
from dialects.support.entry import (
    entry_function,
    input_names,
    keep_argument_attributes,
    output_names,
    return_op,
    set_new_names,
    update_function_type,
)
from dialects.support.shapes import Shape, element_type_of, has_rank, shape_of, static
from passes.autodiff.named_values import values_by_name
from passes.autodiff.pin_values import set_results
from passes.builder.captured_values import values_read_by
from passes.builder.locations import place_by_operands
from passes.builder.operands import replace_uses
from passes.builder.values import Builder, Value
from passes.vectorize.chunks import Chunks
from passes.vectorize.vectorize import vectorize

ROWS = "jacobian_rows"
"""Name of the size of the new axis, if it is dynamic; a number follows it if the function has that name."""


@dataclass(frozen=True)
class JacobianPass(ModulePass):
    """Replace `inputs`, in order, by rows of one identity, and each of `results` by a block for each input.

    like: for each input, another value of its shape, if that is dynamic. columns: the blocks have the axes of
    the result first, else those of the input. The blocks follow the other results, those of the first input
    first; block `<result>_<input>` is of a result and an input. chunk: the rows are computed in chunks of
    this many, by a Scan; 0: all in one run.
    """

    name = "jacobian"

    inputs: tuple[str, ...] = ()
    like: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    columns: bool = False
    chunk: int = 0
    strict_ieee: bool = False

    fallbacks: list[Operation] = field(default_factory=list[Operation], init=False, repr=False, compare=False)
    """The ops that are computed row by row."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        function = entry_function(op)
        parts = self._parts(function)
        known = [one.count for one in parts if one.count is not None]
        total = sum(known) if len(known) == len(parts) else None
        chunk = self.chunk if self.chunk and (total is None or self.chunk < total) else None
        arguments = _named(input_names(function), function.args)
        dtypes = [element_type_of(arguments[name]) for name in self.inputs]
        chosen = [name in self.results for name in output_names(function)]
        found = vectorize(
            function,
            [arguments[name] for name in self.inputs],
            chunk or (_free_name(function) if total is None else total),
            expand=chosen,
            strict_ieee=self.strict_ieee,
        )
        self.fallbacks.extend(found.fallbacks)
        e = Builder()
        counts = [one.size(e) for one in parts]
        firsts = _firsts(e, counts)
        chunks = None if chunk is None else Chunks(firsts[-1], chunk)
        rows = _numbers(e, e.ints([0]), firsts[-1]) if chunks is None else chunks.numbers(e)
        columns = zip(firsts, counts, dtypes, strict=False)
        seeds = [_identity_rows(e, rows, *given) for given in columns]
        self._seed(e, function, parts, seeds, firsts[-1] if chunks is None else e.ints([chunks.size]))
        if chunks is not None:
            chunks.scan(function, chosen)
        self._shape_results(function, parts, firsts)
        update_function_type(function)

    def _parts(self, function: FuncOp) -> list[_Part]:
        values, arguments = values_by_name(function), _named(input_names(function), function.args)
        found: list[_Part] = []
        for name, like in zip(self.inputs, self.like, strict=True):
            shape = shape_of(arguments[name])
            if static(shape) is None and like not in values:
                raise UnsupportedError(
                    Diagnostic("error", f"jacobian: {like} has a dynamic shape and is gone")
                )
            found.append(_Part(shape, values.get(like)))
        return found

    def _seed(
        self, e: Builder, function: FuncOp, parts: Sequence[_Part], seeds: Sequence[Value], count: Value
    ) -> None:
        """Replace the inputs by `count` rows of an identity, of which `seeds` are the columns of each."""
        block = function.body.block
        names = input_names(function)
        arguments = dict(zip(names, function.args, strict=True))
        for name, part, seed in zip(self.inputs, parts, seeds, strict=True):
            argument = arguments[name]
            shape = e.concat([count, part.sizes(e)], 0)
            shaped = seed.apply(onnx.ReshapeOp, shape, allowzero=1).assume_shape(shape_of(argument))
            replace_uses(argument, shaped.value)
        first_op = block.first_op
        assert first_op is not None
        place_by_operands(e.emit.ops, function.body.block, "rows")
        Rewriter.insert_op(e.emit.ops, InsertPoint.before(first_op))
        _sort(block)
        keep_argument_attributes(function, [name not in self.inputs for name in names])
        for name in self.inputs:
            block.erase_arg(arguments[name])

    def _shape_results(self, function: FuncOp, parts: Sequence[_Part], firsts: Sequence[Value]) -> None:
        e, results = Builder(), _named(output_names(function), return_op(function).arguments)
        kept = {name: value for name, value in results.items() if name not in self.results}
        blocks = {
            f"{result}_{name}": self._block(e, e(results[result]), part, first, last)
            for name, part, first, last in zip(self.inputs, parts, firsts, firsts[1:], strict=False)
            for result in self.results
        }
        set_results(function, e, [*kept.values(), *(value.value for value in blocks.values())])
        names = [name for name in input_names(function) if name not in self.inputs]
        set_new_names(function, names, [*kept, *blocks])

    def _block(self, e: Builder, rows: Value, part: _Part, first: Value, last: Value) -> Value:
        """Return the rows of one input in the shape of a block."""
        row = rows.shape[1:]
        own, of_row = part.sizes(e), _row_sizes(e, rows)
        own_rows = rows if len(self.inputs) == 1 else rows.apply(onnx.SliceOp, first, last, e.ints([0]))
        if not self.columns:
            shaped = own_rows.apply(onnx.ReshapeOp, e.concat([own, of_row], 0), allowzero=1)
            return shaped.assume_shape((*part.shape, *row))
        moved = own_rows.transpose([*range(1, len(row) + 1), 0])
        shaped = moved.apply(onnx.ReshapeOp, e.concat([of_row, own], 0), allowzero=1)
        return shaped.assume_shape((*row, *part.shape))


@dataclass(frozen=True)
class _Part:
    """The rows of an input: its shape, and a value that has it, if there is one."""

    shape: Shape
    like: SSAValue | None

    @property
    def count(self) -> int | None:
        known = static(self.shape)
        return None if known is None else prod(known)

    def sizes(self, e: Builder) -> Value:
        known = static(self.shape)
        if known is not None:
            return e.ints(known)
        assert self.like is not None
        return e.shape(e(self.like))

    def size(self, e: Builder) -> Value:
        """Return the number of elements as a vector of one."""
        if self.count is not None:
            return e.ints([self.count])
        assert self.like is not None
        return e(e.emit.product([e.emit.sizes(self.like, [axis]) for axis in range(len(self.shape))]))


def _row_sizes(e: Builder, rows: Value) -> Value:
    known = static(rows.shape[1:])
    if known is not None:
        return e.ints(known)
    return rows.apply(onnx.ShapeOp).apply(onnx.SliceOp, e.ints([1]), e.ints([TO_THE_END]))


def _free_name(function: FuncOp) -> str:
    """Return a name that no size of the function contains: equal names are equal sizes."""
    values = [*function.args, *(result for op in function.walk() for result in op.results)]
    sizes = {dim for value in values if has_rank(value) for dim in shape_of(value) if isinstance(dim, Size)}
    taken = {leaf.name for size in sizes for leaf in size.leaves if isinstance(leaf, Name)}
    names = itertools.chain([ROWS], (f"{ROWS}_{number}" for number in itertools.count(2)))
    return next(name for name in names if name not in taken)


def _named(names: Sequence[str], values: Sequence[SSAValue]) -> dict[str, SSAValue]:
    return dict(zip(names, values, strict=True))


def _add(e: Builder, a: Value, b: Value) -> Value:
    known = [constant_of(one.value) for one in (a, b)]
    if all(one is not None for one in known):
        return e.ints([sum(int(one[0]) for one in known if one is not None)])
    return a + b


def _firsts(e: Builder, counts: Sequence[Value]) -> list[Value]:
    """Return the first row of each input, and the number of all rows."""
    found = [e.ints([0])]
    for count in counts:
        found.append(_add(e, found[-1], count))
    return found


def _identity_rows(e: Builder, rows: Value, first: Value, count: Value, dtype: Attribute) -> Value:
    """Return some rows of `count` columns of an identity, from column `first` on."""
    column = _numbers(e, first, _add(e, first, count))
    return rows.unsqueeze([1]).equals(column.unsqueeze([0])).cast(dtype)


def _numbers(e: Builder, first: Value, last: Value) -> Value:
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
        read = (value.owner for value in values_read_by(top))
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
