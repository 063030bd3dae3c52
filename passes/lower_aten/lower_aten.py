"""lower-aten: write each ATen op as ONNX ops, by the rule of its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.aten.ops import AtenOp
from dialects.onnx import ops as onnx
from dialects.shapes.forms import Size
from dialects.support.diagnostics import UnsupportedError, error_at
from dialects.support.error_list import Errors
from dialects.support.interfaces import set_type
from dialects.support.shapes import element_type_of, has_rank, merge, shape_of, tensor_type
from passes.builder.locations import place_at
from passes.builder.op_builder import OpBuilder
from passes.builder.rewriting import functions, refresh_function_types
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call
from passes.lower_aten.complex_numbers.call import is_complex, is_complex_op, part_dtype
from passes.lower_aten.complex_numbers.pair import Pair
from passes.lower_aten.complex_numbers.table import lower_complex
from passes.lower_aten.complex_numbers.views import simplify_views
from passes.lower_aten.table import RULES
from passes.size_checks.expressions import Expressions, UnknownSize
from passes.size_checks.rows import Element


@dataclass(frozen=True)
class LowerAtenPass(ModulePass):
    name = "lower-aten"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            _lower(function)
        refresh_function_types(op)


def _lower(function: FuncOp) -> None:
    """Lower the ops of a function in order; errors of all of them are reported at once."""
    errors = Errors()
    emit = OpBuilder()
    e, sizes = Builder(emit), _sizes_of(function, emit)
    pairs: dict[SSAValue, Pair] = {}
    simplify_views(function)
    for op in list(function.body.block.ops):
        if isinstance(op, AtenOp):
            with errors.collecting():
                _lower_op(op, e, sizes, pairs)
    errors.check()
    for op in reversed([op for op in function.body.block.ops if isinstance(op, AtenOp)]):
        Rewriter.erase_op(op)


def _sizes_of(function: FuncOp, emit: OpBuilder) -> Expressions:
    """Return the sizes of the function, each dim read from the first argument that has it as an axis."""
    sizes = Expressions(emit)
    known: set[str] = set()
    for argument in function.args:
        named = [(axis, dim.name) for axis, dim in enumerate(shape_of(argument)) if isinstance(dim, Size)]
        new = [(axis, name) for axis, name in named if name is not None and name not in known]
        vector = emit(onnx.ShapeOp(argument)) if new else None
        for axis, name in new:
            assert vector is not None
            sizes.define(name, Element(vector, axis))
            known.add(name)
    return sizes


def _lower_op(op: AtenOp, e: Builder, sizes: Expressions, pairs: dict[SSAValue, Pair]) -> None:
    """Insert the ops of an op's rule before it, and erase it; of complex results, note the parts."""
    if any(is_complex(element_type_of(value)) and value not in pairs for value in op.operands):
        return  # of a complex op that is refused
    try:
        values = lower_complex(op, e, sizes, pairs) if is_complex_op(op) else _values(op, e, sizes)
    except UnknownSize as error:
        hint = "give one an axis of this size alone"
        what = f"no input has the dim {error} as an axis"
        raise error_at(op, what, hint=hint, kind=UnsupportedError) from None
    if len(values) != len(op.results):
        raise AssertionError(f"{op.name}: its rule returns {len(values)} of {len(op.results)} values")
    new = list(e.emit.ops)
    e.emit.ops.clear()
    made = [value for value in values if value is not None]
    first = next((value for value in made if isinstance(value, Value) and value.value.owner in new), None)
    place_at(new, op, op.aten_name, None if first is None else first.value)
    Rewriter.insert_op(new, InsertPoint.before(op))
    for old, value in zip(op.results, values, strict=True):
        if isinstance(value, Pair):
            pairs[old] = value.map(lambda part, old=old: e(_result(op, old, part, new)))
        else:
            _replace(op, old, value, new)
    if not any(old in pairs for old in op.results):
        Rewriter.erase_op(op)


def _values(op: AtenOp, e: Builder, sizes: Expressions) -> Sequence[Value | Pair | None]:
    """Return the results of an op of real tensors."""
    made = RULES[op.aten_name](Call(op, e, sizes), e)
    return [made] if isinstance(made, Value) else list(made)


def _replace(op: AtenOp, old: SSAValue, value: Value | None, new: Sequence[Operation]) -> None:
    if value is None:
        assert old.first_use is None, f"{op.name}: its rule returns None for a result that is read"
        return
    found = _result(op, old, value, new)
    found.name_hint = found.name_hint or old.name_hint
    old.replace_all_uses_with(found)


def _result(op: AtenOp, old: SSAValue, value: Value, new: Sequence[Operation]) -> SSAValue:
    """Return the value of a result, with the sizes that torch has for it. A result of another dtype or rank
    is a fault of the rule."""
    dtype, shape = part_dtype(element_type_of(old)), shape_of(old)
    if value.dtype != dtype:
        raise AssertionError(f"{op.name}: a result is {value.dtype}, not {dtype}")
    if has_rank(value.value) and value.rank != len(shape):
        raise AssertionError(f"{op.name}: a result has rank {value.rank}, not {len(shape)}")
    if value.value.owner in new:
        known = merge(shape_of(value.value), shape) if has_rank(value.value) else shape
        set_type(value.value, tensor_type(value.dtype, known))
    return value.value
