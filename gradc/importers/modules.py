"""What must hold of a graph's module, whoever made it."""

from __future__ import annotations

from collections.abc import Set

from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException

from dialects.onednn.base import OneDNNConvOp
from dialects.support.diagnostics import GradcError, diagnostic_at, error_at, subject_of
from dialects.support.dtypes import of_mlir
from dialects.support.entry import entry_function, input_names, output_names, return_op

GRAPH_DIALECTS = ("onednn", "cann", "grad", "onnx")
"""Dialects whose ops may stand in a function that gradc compiles."""

FRAME_OPS = ("builtin.module", "func.func", "func.return", "arith.constant")

LONGEST = 500
"""xDSL's messages may quote a whole constant; ours stay a line that can be read."""


def check_graph(module: ModuleOp, auto_pad_rule: str | None = None) -> FuncOp:
    """The one function of a module that gradc can compile, verified; GradcError for any other module.

    `auto_pad_rule` replaces that of every op before the ops are verified, in place: a graph may be
    valid under one rule only.
    """
    if auto_pad_rule is not None:
        _set_auto_pad_rule(module, auto_pad_rule)
    _check_ops(module)
    try:
        function = entry_function(module)
        return_op(function)
    except GradcError as error:
        raise error.located(module) from None
    verify(module)
    _check_edge(function)
    return function


def _set_auto_pad_rule(module: ModuleOp, rule: str) -> None:
    for op in module.walk():
        if isinstance(op, OneDNNConvOp):
            op.properties["auto_pad_rule"] = StringAttr(rule)


def short(error: Exception) -> str:
    """An error's text of at most LONGEST characters."""
    text = str(error) or type(error).__name__
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."


def _check_ops(module: ModuleOp) -> None:
    for op in module.walk():
        if op.name not in FRAME_OPS and op.dialect_name() not in GRAPH_DIALECTS:
            expected = f"{', '.join(FRAME_OPS)}, or an op of {', '.join(GRAPH_DIALECTS)}"
            raise error_at(op, "gradc does not compile this op", expected=expected)
    for op in module.ops:
        if not isinstance(op, FuncOp):
            raise error_at(op, "op outside of a function", expected="func.func")


def verify(module: ModuleOp) -> None:
    """Op by op, so that an error of xDSL's own checks gets the place of the op that fails them."""
    seen: set[Operation] = set()
    for op in module.walk():
        _check_defined(op, seen)
        _verify_op(op, nested=False)
        seen.add(op)
    _verify_op(module, nested=True)


def _verify_op(op: Operation, nested: bool) -> None:
    try:
        op.verify(verify_nested_ops=nested)
    except GradcError as error:
        raise error.located(op) from None
    except (DiagnosticException, ValueError) as error:
        raise GradcError(diagnostic_at(op, "error", short(error))) from None


def _check_defined(op: Operation, before: Set[Operation]) -> None:
    """xDSL accepts a use before the definition."""
    block = op.parent_block()
    for index, operand in enumerate(op.operands):
        owner = operand.owner
        if isinstance(owner, Operation) and owner.parent_block() is block and owner not in before:
            name = f"%{operand.name_hint}" if operand.name_hint else f"input {index}"
            raise error_at(op, f"{name} is used before {subject_of(owner)} defines it")


def _check_edge(function: FuncOp) -> None:
    """The function has outputs, and its inputs and outputs are tensors that a runtime can be given."""
    if not return_op(function).arguments:
        raise error_at(function, "the function returns nothing", expected="at least one output")
    named = [
        *(("input", *pair) for pair in zip(input_names(function), function.args, strict=True)),
        *(("output", *p) for p in zip(output_names(function), return_op(function).arguments, strict=True)),
    ]
    for role, name, value in named:
        type_ = value.type
        if not isinstance(type_, TensorType) or of_mlir(type_.element_type) is None:
            raise error_at(
                function, f'type of {role} "{name}"', given=type_, expected="a ranked tensor of a known dtype"
            )
