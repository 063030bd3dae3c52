"""A module to be moved along lines: float64 throughout, and a displacement added to each value asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, TensorType, UnrankedTensorType, f64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.evaluate import Watch, evaluate
from dialects.onnx import ops as onnx
from dialects.onnx.kernels import NUMPY_ERRORS
from dialects.onnx.types import OptionalType, SequenceType
from dialects.support import dense, entry, shapes
from dialects.support.diagnostics import GradcError, kind_of, name_of
from dialects.support.dtypes import of_mlir
from gradc.checking.straight_through import has_scales_among, move_straight, off_codes
from passes.emit.operands import replace_uses, set_operand
from passes.emit.rewriting import drop_unread_nodes, fold
from passes.foreign.codes import compute_with_floats
from passes.vjp.reach.estimators import mark_estimates
from passes.vjp.reach.flows import FLOATS
from passes.vjp.rules.quantize import mark_pairs
from passes.vjp.values import add_parts, named_values

Arrays = dict[str, np.ndarray]

NEARLY = 1e-5
"""Of its size, how near to the middle between two codes a number may be rounded to either."""


@dataclass(frozen=True)
class Line:
    """A function in float64: its first results are those of `of`, then the values of `wrt`; its last
    arguments displace the values of `wrt`, in that order."""

    module: ModuleOp
    of: Sequence[str]
    wrt: Sequence[str]
    is_beside: bool = False
    """Whether what is dequantised lies a little beside its codes."""

    @property
    def inputs(self) -> tuple[str, ...]:
        names = entry.input_names(entry.entry_function(self.module))
        return names[: len(names) - len(self.wrt)]

    def run(self, inputs: Mapping[str, Any], moved: Mapping[str, Any], watch: Watch | None = None) -> Arrays:
        """The values of `of` where those of `wrt` are displaced; by nothing where nothing is said."""
        given = [in_float64(inputs[name]) for name in self.inputs]
        displaced = [np.asarray(moved.get(name, 0.0), np.float64) for name in self.wrt]
        results = evaluated(self.module, [*given, *displaced], watch)
        return dict(zip([*self.of, *(f"value {name}" for name in self.wrt)], results, strict=True))


class NotComputed(Exception):
    """An op has no value at the numbers and sizes that were drawn; the text says which."""


def evaluated(
    module: ModuleOp, inputs: Sequence[np.ndarray], watch: Watch | None = None
) -> tuple[np.ndarray, ...]:
    """Raises NotComputed where numpy fails at an op."""
    reached: list[tuple[Operation, Sequence[Any]]] = []

    def before(op: Operation, args: Sequence[Any]) -> None:
        reached[:] = [(op, args)]  # the last one only: it keeps its operands alive

    try:
        with np.errstate(all="ignore"):
            return evaluate(module, inputs, watch=watch, before=before)
    except (AssertionError, GradcError, *NUMPY_ERRORS) as error:
        if not reached or not _is_of_numpy(error):
            raise
        raise NotComputed(_not_computed(*reached[-1])) from error


def _is_of_numpy(error: BaseException | None) -> bool:
    """Whether numpy failed at an op, rather than gradc refusing it."""
    while isinstance(error, GradcError):
        error = error.__cause__
    return error is not None


def _not_computed(op: Operation, args: Sequence[Any]) -> str:
    title = " ".join(filter(None, (kind_of(op), name_of(op))))
    shown = [shapes.show(np.shape(array)) for array in args if isinstance(array, np.ndarray)]
    return f"{title} has no value of operands of the shapes {', '.join(shown)}, to which drawn sizes led"


def line(
    primal: ModuleOp,
    of: Sequence[str],
    wrt: Sequence[str],
    *,
    straight_through: bool = False,
    beside: bool = False,
) -> Line:
    """Of a module of ONNX's ops, which stays as it is. What depends on nothing is rounded to its own type, as
    in the gradient. `beside` moves what is dequantised a little off its codes, unless by a scale that is
    displaced."""
    module = primal.clone()
    if straight_through:
        compute_with_floats(module)
    _fold_constants(module, of, wrt)
    module = widened(module)
    function = entry.entry_function(module)
    inputs, values = entry.input_names(function), named_values(function)
    values |= add_parts(function, of, values)
    ends, starts = [values[name] for name in of], [values[name] for name in wrt]
    is_beside = beside and not has_scales_among(module, starts)
    if is_beside:
        off_codes(module)
    moved = _displaced(function, starts)
    new: Mapping[SSAValue, SSAValue] = {}
    if straight_through:
        mark_pairs(module)
        mark_estimates(module, straight_through=True)
        new = move_straight(function, moved)
    results = [new.get(value, value) for value in (*(moved.get(value, value) for value in ends), *starts)]
    last = entry.return_op(function)
    Rewriter.insert_op(ReturnOp(*results), InsertPoint.before(last))
    Rewriter.erase_op(last)
    drop_unread_nodes(function)
    entry.update_function_type(function)
    names = [*of, *(f"value {name}" for name in wrt)]
    entry.set_new_names(function, [*inputs, *(f"displacement {name}" for name in wrt)], names)
    return Line(module, of, wrt, is_beside)


def _fold_constants(module: ModuleOp, of: Sequence[str], wrt: Sequence[str]) -> None:
    """Make one of what is made of constants alone; what is made of those that are displaced is computed."""
    function = entry.entry_function(module)
    values = named_values(function)
    asked = [values[name] for name in dict.fromkeys((*of, *wrt)) if name in values]
    block = function.body.block
    moved = [value for value in asked if isinstance(value.owner, onnx.ConstantOp)]
    instead = [block.insert_arg(value.type, len(block.args)) for value in moved]
    for value, argument in zip(moved, instead, strict=True):
        replace_uses(value, argument)
    fold(module, asked)
    for value, argument in zip(moved, instead, strict=True):
        replace_uses(argument, value)
        block.erase_arg(argument)
    entry.update_function_type(function)


def _displaced(function: FuncOp, values: Sequence[SSAValue]) -> dict[SSAValue, SSAValue]:
    """Each value -> its sum with a new argument for each name of it, which all that read it read."""
    block, found = function.body.block, dict[SSAValue, SSAValue]()
    for value in values:
        displacement = block.insert_arg(value.type, len(block.args))
        before = found.get(value, value)
        users = list(before.uses)
        add = onnx.AddOp(before, displacement, result_types=[value.type])
        first = block.first_op if isinstance(before, BlockArgument) else None
        place = InsertPoint.before(first) if first is not None else InsertPoint.after(_owner(before))
        Rewriter.insert_op(add, place)
        for use in users:
            set_operand(use.operation, use.index, add.results[0])
        found[value] = add.results[0]
    return found


def _owner(value: SSAValue) -> Operation:
    assert isinstance(value.owner, Operation)
    return value.owner


def widened(module: ModuleOp) -> ModuleOp:
    """A copy in which every float is a float64, so that nothing is rounded between ops."""
    module = module.clone()
    for op in module.walk():
        if isinstance(op, onnx.ConstantOp):
            op.value = _wide_constant(op.value)
        _widen(op.results)
        for block in (block for region in op.regions for block in region.blocks):
            _widen(block.args)
    function = entry.entry_function(module)
    entry.forget_declared_types(function)
    entry.update_function_type(function)
    return module


def rounded_otherwise(module: ModuleOp) -> ModuleOp | None:
    """A copy in float64 that rounds to the other one of two codes between which a number nearly lies; None
    where nothing is quantised. onnxruntime computes such a number in another order than numpy."""
    module = widened(module)
    quantizing = [op for op in module.walk() if isinstance(op, onnx.QuantizeLinearOp)]
    for op in quantizing:
        by = onnx.ConstantOp(np.array(1 + NEARLY))
        scale = onnx.MulOp(op.y_scale, by.output, result_types=[op.y_scale.type])
        Rewriter.insert_op([by, scale], InsertPoint.before(op))
        set_operand(op, 1, scale.results[0])
    return module if quantizing else None


def _widen(values: Iterable[SSAValue]) -> None:
    for value in values:
        if (wide := _wide(value.type)) != value.type:
            Rewriter.replace_value_with_new_type(value, wide)


def _wide(type_: Attribute) -> Attribute:
    match type_:
        case TensorType():
            return TensorType(f64, type_.shape, type_.encoding) if _is_narrow(type_.element_type) else type_
        case UnrankedTensorType():
            return UnrankedTensorType(f64) if _is_narrow(type_.element_type) else type_
        case SequenceType() | OptionalType():
            return type(type_)(_wide(type_.element))
        case _:
            return type_


def _is_narrow(element: Attribute) -> bool:
    dtype = of_mlir(element)
    return dtype is not None and dtype.name in FLOATS and dtype.name != "f64"


def _wide_constant(value: Any) -> Any:
    if not isinstance(value, DenseIntOrFPElementsAttr) or not _is_narrow(value.type.element_type):
        return value
    return dense.from_numpy(dense.to_numpy(value).astype(np.float64))


def in_float64(array: Any) -> Any:
    """An input as a function in float64 takes it."""
    if isinstance(array, list):
        return [in_float64(element) for element in array]
    is_float = isinstance(array, np.ndarray) and array.dtype.kind not in "iubOUSTc"
    return array.astype(np.float64) if is_float else array
