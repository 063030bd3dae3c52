"""vectorize: compute a function for all rows along a new leading axis of some of its inputs, in one run."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.onnx.base import OnnxOp
from dialects.onnx.control import YieldOp
from dialects.shapes.forms import name as named_size
from dialects.support.diagnostics import violation
from dialects.support.entry import TYPE, input_names, output_names, return_op, set_names, update_function_type
from dialects.support.shapes import Dim, has_rank, shape_of
from passes.builder.captured_values import values_read_by
from passes.builder.locations import place_by_operands
from passes.builder.op_builder import OpBuilder
from passes.builder.operands import replace_uses
from passes.builder.tensors import Size
from passes.builder.values import Builder, Value
from passes.vectorize.batch import Batch, OpCall, Operand, Result, Unbatched
from passes.vectorize.regions import RULES as REGION_RULES
from passes.vectorize.regions import Outer
from passes.vectorize.rows import row_type, scan_rows
from passes.vectorize.table import RULES


@dataclass(frozen=True)
class Vectorized:
    """Report of a vectorization.

    `fallbacks`: the ops that are computed row by row, each alone in the body of its Scan. `batched`: for each
    result of the function, whether it depends on the batched inputs.
    """

    fallbacks: Sequence[Operation] = ()
    batched: Sequence[bool] = ()


def vectorize(
    function: FuncOp,
    batched: Sequence[SSAValue],
    size: int | str,
    *,
    expand: Sequence[bool] | None = None,
    strict_ieee: bool = False,
) -> Vectorized:
    """Rewrite a function of ONNX ops, with inferred types, such that the arguments `batched` have a new
    leading axis of `size`, a number or the name of a dynamic size; sizes of the function that have the same
    name are equal to it.

    The results get the axis, too: one that depends on no argument of `batched` is repeated along it, or left
    as it is where `expand` is False. Ops that depend on none of them are not changed. `strict_ieee`: avoid
    0 * inf, as in `differentiate`.

    Raises UnsupportedError for an op on sequences that depends on them.
    """
    inputs, outputs = input_names(function), output_names(function)
    dim = named_size(size) if isinstance(size, str) else size
    block, walk = function.body.block, _Walk(dim, strict_ieee=strict_ieee)
    for argument in batched:
        if not isinstance(argument, BlockArgument) or argument.owner is not block:
            raise violation("value to vectorize over", given=argument.name_hint, expected="an argument")
    walk.add_arguments(block, batched)
    results = walk.results(block, [True] * len(outputs) if expand is None else expand)
    changed = [value in walk.batched for value in return_op(function).arguments]
    last = return_op(function)
    Rewriter.insert_op(ReturnOp(*results), InsertPoint.before(last))
    Rewriter.erase_op(last)
    walk.erase(block)
    function.arg_attrs = _without_types(function.arg_attrs)
    function.res_attrs = _without_types(function.res_attrs)
    set_names(function, inputs, outputs)
    update_function_type(function)
    return Vectorized(walk.fallbacks, changed)


def _without_types(attrs: ArrayAttr[DictionaryAttr] | None) -> ArrayAttr[DictionaryAttr] | None:
    """Return the attributes of arguments or results without declared types."""
    if attrs is None:
        return None
    return ArrayAttr(DictionaryAttr({n: a for n, a in e.data.items() if n != TYPE}) for e in attrs)


@dataclass
class _Walk:
    """A walk over the ops of a function that adds ops on batched values next to those that they replace."""

    dim: Dim
    size: Size | None = None
    strict_ieee: bool = False
    batched: MutableMapping[SSAValue, Value] = field(default_factory=dict[SSAValue, Value])
    """Value -> the one with the new axis."""
    dead: list[Operation] = field(default_factory=list)
    fallbacks: list[Operation] = field(default_factory=list)

    def add_arguments(self, block: Block, arguments: Sequence[SSAValue]) -> None:
        """Add an argument with the new axis behind each of `arguments`."""
        e = Builder()
        shell = Batch(e, 0, self.dim)
        for argument in arguments:
            assert isinstance(argument, BlockArgument)
            new = block.insert_arg(row_type(argument, shell), argument.index + 1)
            new.name_hint = argument.name_hint
            self.batched[argument] = e(new)
        if isinstance(self.dim, int):
            self.size = self.dim
        elif arguments and self.size is None:
            emit = OpBuilder()
            self.size = emit.sizes(self.batched[arguments[0]].value, [0])
            first = block.first_op
            assert first is not None
            place_by_operands(emit.ops, block, "rows")
            Rewriter.insert_op(emit.ops, InsertPoint.before(first))

    def results(self, block: Block, expand: Sequence[bool]) -> list[SSAValue]:
        """Vectorize the ops of a block; return its results, with the new axis where `expand` holds."""
        last = block.last_op
        assert last is not None
        for op in list(block.ops):
            if op is not last:
                self.op(op)
        b = self._new_batch()
        pairs = zip(last.operands, expand, strict=True)
        found = [self._result(value, b, expanded) for value, expanded in pairs]
        place_by_operands(b.e.emit.ops, block, "rows")
        Rewriter.insert_op(b.e.emit.ops, InsertPoint.before(last))
        return found

    def _new_batch(self) -> Batch:
        return Batch(Builder(strict_ieee=self.strict_ieee), 0 if self.size is None else self.size, self.dim)

    def _result(self, value: SSAValue, b: Batch, expand: bool) -> SSAValue:
        if value in self.batched:
            return self.batched[value].value
        return b.expand(Operand(b.e(value), False, value.type)).value if expand else value

    def op(self, op: Operation) -> None:
        """Add an op for all rows, if one of the values that it reads is batched."""
        read = dict.fromkeys(values_read_by(op))
        if not any(value in self.batched for value in read):
            return
        b = self._new_batch()
        found = self._by_rule(op, b)
        if found is None:
            b.e.emit.discard()
            b = self._new_batch()
            inner, found = scan_rows(
                op, {v: b.e(self.batched[v].value) for v in read if v in self.batched}, b
            )
            self.fallbacks.append(inner)
        self._set_results(op, found, b)
        for new in b.e.emit.ops:
            for inner in new.walk():
                inner.location = op.location
        Rewriter.insert_op(b.e.emit.ops, InsertPoint.before(op))
        self.dead.append(op)

    def _by_rule(self, op: Operation, b: Batch) -> Sequence[Result] | None:
        name = op.name.removeprefix("onnx.")
        values = op.onnx_inputs() if isinstance(op, OnnxOp) else list(op.operands)
        call = OpCall(op, [None if value is None else self._operand(value, b) for value in values])
        if name in REGION_RULES:
            return REGION_RULES[name](call, b, Outer(self.batched, self._body))
        return RULES[name](call, b) if name in RULES else None

    def _body(self, region: Region, given: Sequence[bool], made: Sequence[bool]) -> Region:
        """Return a region with the new axis on some arguments and results."""
        found = region.clone()
        block, last = found.block, found.block.last_op
        assert last is not None
        walk = _Walk(
            self.dim, self.size, self.strict_ieee, ChainMap({}, self.batched), fallbacks=self.fallbacks
        )
        walk.add_arguments(block, [arg for arg, flag in zip(block.args, given, strict=True) if flag])
        results = walk.results(block, made)
        Rewriter.insert_op(YieldOp(*results), InsertPoint.before(last))
        Rewriter.erase_op(last)
        walk.erase(block)
        return found

    def _operand(self, value: SSAValue, b: Batch) -> Operand:
        found = self.batched.get(value)
        return Operand(b.e(value if found is None else found.value), found is not None, value.type)

    def _set_results(self, op: Operation, found: Sequence[Result], b: Batch) -> None:
        for old, new in zip(op.results, found, strict=True):
            if not old.first_use:
                continue
            if isinstance(new, Unbatched):
                replace_uses(old, new.value.value)
                continue
            if has_rank(old):
                new.assume_shape((b.dim, *shape_of(old)))
            self.batched[old] = new
            new.value.name_hint = old.name_hint

    def erase(self, block: Block) -> None:
        """Erase the replaced ops, and the arguments without the new axis."""
        for op in reversed(self.dead):
            Rewriter.erase_op(op)
        for argument in [a for a in block.args if a in self.batched]:
            block.erase_arg(argument)
