"""A captured PyTorch function as a module of the aten dialect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from dialects.aten.ops import aten, is_known
from dialects.aten.remedies import remedy_of
from dialects.onnx.ops import ConstantOp
from dialects.support import entry
from dialects.support.diagnostics import Diagnostic, UnsupportedError, location, sentence
from dialects.support.dtypes import known_dtype
from dialects.support.names import hint_of
from dialects.support.shapes import tensor_type
from gradc.importers.torch.captured import CapturedGraph, CapturedOp, TensorType_, ValueRef
from gradc.importers.torch.elements import COMPLEX
from gradc.importers.torch.refusals import position_from

NEW = "new_"
"""Prefix of the results that are new values of buffers."""


def module_of(graph: CapturedGraph) -> ModuleOp:
    """Return the module of a captured graph: inputs, then parameters and buffers, are its arguments; the
    results of the function, then new values of buffers, its results. Complex ones are real tensors with their
    parts along a last axis.

    Raises UnsupportedError, with all ops that have no lowering.
    """
    _check_known(graph.ops)
    block = Block()
    values: dict[int, SSAValue] = {}
    for given in graph.inputs:
        argument = block.insert_arg(_type(real_type(graph.values[given.value])), len(block.args))
        argument.name_hint = hint_of(given.name)
    for given, argument in zip(graph.inputs, block.args, strict=True):
        values[given.value] = viewed("view_as_complex", argument, graph.values[given.value], block)
    for index, array in graph.constants.items():
        constant = ConstantOp(array)
        block.add_op(constant)
        values[index] = viewed("view_as_complex", constant.results[0], graph.values[index], block)
    for op in graph.ops:
        block.add_op(_op(op, graph.values, values))
    returned = [(output.name, output.value) for output in graph.outputs]
    returned += [(NEW + name, index) for name, index in graph.updates.items()]
    results = [
        (name, viewed("view_as_real", values[index], graph.values[index], block)) for name, index in returned
    ]
    block.add_op(ReturnOp(*(value for _, value in results)))
    types = [value.type for value in block.args], [value.type for _, value in results]
    function = FuncOp("main", types, Region(block))
    entry.set_edge(
        function,
        [(given.name, argument.type) for given, argument in zip(graph.inputs, block.args, strict=True)],
        [(name, value.type) for name, value in results],
    )
    return ModuleOp([function])


def _type(given: TensorType_) -> Attribute:
    return tensor_type(known_dtype(given.dtype).mlir, given.shape)


def real_type(given: TensorType_) -> TensorType_:
    """Return the type of the parts of a complex tensor along a last axis; others as they are."""
    is_complex = given.dtype in COMPLEX
    return TensorType_(COMPLEX[given.dtype], (*given.shape, 2)) if is_complex else given


def viewed(view: str, value: SSAValue, kind: TensorType_, block: Block) -> SSAValue:
    """Return a value of a complex type as real or complex; others as they are."""
    if kind.dtype not in COMPLEX:
        return value
    made = aten(f"{view}.default", [value], [_type(kind if view == "view_as_complex" else real_type(kind))])
    block.add_op(made)
    return made.results[0]


def _op(op: CapturedOp, types: Sequence[TensorType_], values: dict[int, SSAValue]) -> Any:
    made = aten(
        op.op, [_argument(one, values) for one in op.arguments], [_type(types[i]) for i in op.results]
    )
    made.location = location("", position_from(op.location))
    values.update(zip(op.results, made.results, strict=True))
    return made


def _argument(argument: Any, values: Mapping[int, SSAValue]) -> Any:
    if isinstance(argument, tuple):
        return [_value(each, values) for each in argument]
    return _value(argument, values)


def _value(argument: Any, values: Mapping[int, SSAValue]) -> Any:
    return values[argument.index] if isinstance(argument, ValueRef) else argument


def _check_known(ops: Sequence[CapturedOp]) -> None:
    unknown: dict[str, CapturedOp] = {}
    for op in ops:
        if not is_known(op.op):
            unknown.setdefault(op.op, op)
    if unknown:
        found = [
            Diagnostic(
                "error",
                sentence("no lowering to ONNX", hint=remedy_of(name)),
                f"aten.{name}",
                position_from(op.location),
            )
            for name, op in unknown.items()
        ]
        raise UnsupportedError(found[0], found[1:])
