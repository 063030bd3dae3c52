"""Verification of a graph's module."""

from __future__ import annotations

import math
from collections.abc import Set

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseIntOrFPElementsAttr, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import DiagnosticException

from dialects.onnx.types import is_value_type
from dialects.support import limits
from dialects.support.diagnostics import (
    Diagnostic,
    GradcError,
    diagnostic_at,
    error_at,
    sentence,
    subject_of,
)
from dialects.support.entry import entry_function, input_names, output_names, return_op
from dialects.support.error_list import Errors, OpReference, summarize_by_kind
from dialects.support.limits import LimitError
from dialects.support.shapes import MOST_ELEMENTS

GRAPH_DIALECTS = ("onednn", "cann", "grad", "onnx")
"""Dialects whose ops gradc compiles."""

FRAME_OPS = ("builtin.module", "func.func", "func.return", "arith.constant")

LONGEST = 500
"""Longest quote in characters; xDSL's messages may contain a whole constant."""


def check_graph(module: ModuleOp, auto_pad_rule: str | None = None) -> FuncOp:
    """Verify a module and return its only function. Raises GradcError for a module that gradc cannot compile.

    `auto_pad_rule` replaces that of every op, in place and first: a graph may be valid under one rule only.
    """
    if auto_pad_rule is not None:
        _set_auto_pad_rule(module, auto_pad_rule)
    _check_ops(module)
    try:
        function = entry_function(module)
        return_op(function)
    except GradcError as error:
        raise error.at_op(module) from None
    _check_body(function)
    verify(module)
    _check_edge(function)
    return function


def _set_auto_pad_rule(module: ModuleOp, rule: str) -> None:
    from dialects.onednn.base import OneDNNConvOp  # slow to import, for other graphs

    for op in module.walk():
        if isinstance(op, OneDNNConvOp):
            op.imply_rule(rule)


def short(error: Exception | Attribute) -> str:
    """Return the text of an error or attribute, cut after LONGEST characters."""
    text = str(error) or type(error).__name__
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."


def _check_ops(module: ModuleOp) -> None:
    ops = [op for op in module.walk() if op.name not in FRAME_OPS]
    foreign = [OpReference.of(op) for op in ops if op.dialect_name() not in GRAPH_DIALECTS]
    if foreign:
        expected = f"{', '.join(FRAME_OPS)}, or an op of {', '.join(GRAPH_DIALECTS)}"
        message = sentence(
            f"gradc does not compile {summarize_by_kind(foreign, len(ops))}", expected=expected
        )
        raise GradcError(Diagnostic("error", message, foreign[0].subject, foreign[0].position))
    _check_module(module)
    for op in module.ops:
        if not isinstance(op, FuncOp):
            raise error_at(op, "op outside of a function", expected="func.func")


def _check_module(module: ModuleOp) -> None:
    """Check that a module is one block without arguments; its text may spell any region."""
    if len(module.body.blocks) != 1 or module.body.block.args:
        raise error_at(module, "body of the module", expected="one block without arguments")


def check_sizes(module: ModuleOp) -> None:
    """Check the number of ops, the size of splat constants, and that element counts fit in 64 bits.

    Raises LimitError or GradcError.
    """
    limits.check("ops", sum(1 for _ in module.walk()), "ops of the graph")
    for op in module.walk():
        for value in op.properties.values():
            if isinstance(value, DenseIntOrFPElementsAttr):
                _check_spread(op, value)
        blocks = [block for region in op.regions for block in region.blocks]
        for type_ in (*op.result_types, *(argument.type for block in blocks for argument in block.args)):
            _check_elements(op, type_)


def _check_spread(op: Operation, value: DenseIntOrFPElementsAttr) -> None:
    count = math.prod(value.type.get_shape())
    if len(value.data.data) >= count:
        return
    if count > limits.current().constant_elements:
        what = limits.too_large("constant-elements", count, "elements of a constant")
        raise LimitError(diagnostic_at(op, "error", what))


def _check_elements(op: Operation, type_: Attribute) -> None:
    if not isinstance(type_, TensorType):
        return
    known = [dim for dim in type_.get_shape() if dim != DYNAMIC_INDEX]
    if math.prod(known) > MOST_ELEMENTS:
        expected = f"at most {MOST_ELEMENTS:,}: sizes are numbers of 64 bits"
        raise error_at(op, f"elements of {type_}", given=f"{math.prod(known):,}", expected=expected)


def _check_body(function: FuncOp) -> None:
    """Check that the function's ops compute tensors: no functions, modules or scalars."""
    errors = Errors()
    for op in function.body.block.ops:
        errors.attempt(_check_computes, op)
    errors.check()


def _check_computes(op: Operation) -> None:
    if isinstance(op, FuncOp | ModuleOp):
        raise error_at(op, "op inside of a function", expected="ops that compute tensors")
    if op.name == "arith.constant" and not isinstance(op.properties["value"], DenseIntOrFPElementsAttr):
        raise error_at(
            op, "value of the constant", given=short(op.properties["value"]), expected="a dense<...> tensor"
        )


def verify(module: ModuleOp) -> None:
    """Verify a module; errors of xDSL's own checks get the location of the op that fails."""
    check_sizes(module)
    _check_module(module)
    seen: set[Operation] = set()
    for op in module.walk():
        _check_defined(op, seen)
        seen.add(op)
    try:
        module.verify()
    except _INVALID:
        errors = Errors()
        for op in module.walk():
            errors.attempt(_verify_op, op, False)
        errors.check()
        _verify_op(module, nested=True)


_INVALID = (GradcError, DiagnosticException, ValueError)


def _verify_op(op: Operation, nested: bool) -> None:
    try:
        op.verify(verify_nested_ops=nested)
    except GradcError as error:
        raise error.at_op(op) from None
    except _INVALID as error:
        raise GradcError(diagnostic_at(op, "error", short(error))) from None


def _check_defined(op: Operation, before: Set[Operation]) -> None:
    """Raise for a use before the definition, which xDSL accepts."""
    block = op.parent_block()
    for index, operand in enumerate(op.operands):
        owner = operand.owner
        if isinstance(owner, Operation) and owner.parent_block() is block and owner not in before:
            name = f"%{operand.name_hint}" if operand.name_hint else f"input {index}"
            raise error_at(op, f"{name} is used before {subject_of(owner)} defines it")


def _check_edge(function: FuncOp) -> None:
    """Check that there are outputs, and that inputs and outputs have types that a runtime accepts."""
    if not return_op(function).arguments:
        raise error_at(function, "the graph has no outputs", expected="at least one")
    named = [
        *(("input", *pair) for pair in zip(input_names(function), function.args, strict=True)),
        *(("output", *p) for p in zip(output_names(function), return_op(function).arguments, strict=True)),
    ]
    errors = Errors()
    for role, name, value in named:
        errors.attempt(_check_type, function, f'type of {role} "{name}"', value.type)
    errors.check()


def _check_type(function: FuncOp, what: str, type_: Attribute) -> None:
    if not is_value_type(type_):
        raise error_at(function, what, given=type_, expected="a tensor of a known dtype, or a type of ONNX")
