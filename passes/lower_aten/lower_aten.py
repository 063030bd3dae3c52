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
    for op in list(function.body.block.ops):
        if isinstance(op, AtenOp):
            with errors.collecting():
                _lower_op(op, e, sizes)
    errors.check()


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


def _lower_op(op: AtenOp, e: Builder, sizes: Expressions) -> None:
    emit = e.emit
    try:
        made = RULES[op.aten_name](Call(op, e, sizes), e)
    except UnknownSize as error:
        hint = "give one an axis of this size alone"
        what = f"no input has the dim {error} as an axis"
        raise error_at(op, what, hint=hint, kind=UnsupportedError) from None
    values = [made] if isinstance(made, Value) else list(made)
    if len(values) != len(op.results):
        raise AssertionError(f"{op.name}: its rule returns {len(values)} of {len(op.results)} values")
    new = list(emit.ops)
    results = [_result(op, index, value, new) for index, value in enumerate(values)]
    emit.ops.clear()
    place_at(new, op, op.aten_name, next((v for v in results if v is not None and v.owner in new), None))
    Rewriter.insert_op(new, InsertPoint.before(op))
    for old, value in zip(op.results, results, strict=True):
        if value is not None:
            value.name_hint = value.name_hint or old.name_hint
            old.replace_all_uses_with(value)
    Rewriter.erase_op(op)


def _result(op: AtenOp, index: int, value: Value | None, new: Sequence[Operation]) -> SSAValue | None:
    """Return the value of a result, with the sizes that torch has for it. A result of another dtype or rank,
    or one that is missing, is a fault of the rule."""
    old = op.results[index]
    if value is None:
        assert old.first_use is None, f"{op.name}: its rule returns no result {index}, which is read"
        return None
    if element_type_of(value.value) != element_type_of(old):
        raise AssertionError(f"{op.name}: result {index} is {value.dtype}, not {element_type_of(old)}")
    shape = shape_of(old)
    if has_rank(value.value) and value.rank != len(shape):
        raise AssertionError(f"{op.name}: result {index} has rank {value.rank}, not {len(shape)}")
    if value.value.owner in new:
        known = merge(shape_of(value.value), shape) if has_rank(value.value) else shape
        set_type(value.value, tensor_type(value.dtype, known))
    return value.value
