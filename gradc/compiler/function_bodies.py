"""Inline the decomposition of an op that the target does not implement: gradc's own, else ONNX's function
body."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

import onnx
from onnx import FunctionProto, NodeProto, TypeProto
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from dialects.onnx.base import OnnxOp
from dialects.onnx.control import YieldOp
from dialects.onnx.ops import ConstantOp
from dialects.onnx.opset_range import opset_range
from dialects.onnx.types import UnknownType
from dialects.support.diagnostics import GradcError, name_of, violation
from dialects.support.entry import entry_function, update_function_type
from gradc.importers.onnx.read import body_of
from gradc.model.attribute_protos import fill_attribute, type_proto
from passes.builder.op_builder import OpBuilder
from passes.decompositions.registry import Decomposition, Reason, decompose, decomposition_of
from passes.targets.target import Target

MAX_DEPTH = 8
"""Maximum nesting of function bodies: Gelu's contains CastLike, which has one."""


def inline_missing_ops(module: ModuleOp, target: Target, is_imported: bool = True) -> None:
    """Inline ops that the target implements in no version, if it implements every op of the decomposition.

    In modules that are not imported, only ops with a decomposition of gradc's own.
    """
    for op in list(module.walk()):
        if not isinstance(op, OnnxOp) or not (is_imported or _own_decomposition(op)):
            continue
        if _has_body(op.onnx_name()) and _is_missing(op, target):
            _replace(op, target, 1)
    update_function_type(entry_function(module))  # a body may have results of other types


def _is_missing(op: Operation, target: Target) -> bool:
    if not isinstance(op, OnnxOp) or isinstance(op, ConstantOp) or target.lacks_form(op) is None:
        return False
    is_left = target.has_form(op) and target.leaves_to_runtime(op)
    return not is_left or target.may_fail_on_empty(op) or _own_decomposition(op) is not None


@cache
def _has_body(op_type: str) -> bool:
    return onnx.defs.has(op_type) and bool(_body_versions(onnx.defs.get_schema(op_type)))


def _body_versions(schema: Any) -> list[int]:
    return [*schema.function_opset_versions, *schema.context_dependent_function_opset_versions]


def is_inlined(op: OnnxOp, target: Target) -> bool:
    """Return whether the op would be inlined."""
    if not _is_missing(op, target):
        return False
    body = _legal_body(op, target, 1)
    if body is not None:
        body.erase(safe_erase=False)
    return body is not None


def _replace(op: OnnxOp, target: Target, depth: int) -> bool:
    """Replace an op by its decomposition and return True; keep it if the target lacks an op of that."""
    around, block = op.parent_block(), _legal_body(op, target, depth)
    if around is None or block is None:
        return False
    returned = block.last_op
    assert returned is not None
    for result, value in zip(_results_in_use(op), returned.operands, strict=True):
        value.name_hint = result.name_hint
        result.replace_all_uses_with(value)
    Rewriter.erase_op(returned)
    for inner in list(block.ops):
        inner.detach()
        around.insert_op_before(inner, op)
    Rewriter.erase_op(op)
    return True


def _results_in_use(op: OnnxOp) -> list[SSAValue]:
    return [result for result in op.results if result.first_use is not None]


def _legal_body(op: OnnxOp, target: Target, depth: int) -> Block | None:
    """Return the decomposition, which yields the used results, or None if the target lacks one of its ops."""
    if op.regions or depth > MAX_DEPTH or not _has_body(op.onnx_name()):
        return None
    for write in (_write_own, _onnx_body):
        block = Block()
        values = _try_build(write, op, target.opset, block)
        if values is None:
            continue
        block.add_op(YieldOp(*values))
        if all(_is_legal(inner, target, depth) for inner in list(block.walk())):
            return block
        block.erase(safe_erase=False)
    return None


Write: TypeAlias = Callable[[OnnxOp, int, Block], "list[SSAValue] | None"]


def _try_build(write: Write, op: OnnxOp, opset: int, block: Block) -> list[SSAValue] | None:
    try:
        return write(op, opset, block)
    except GradcError:
        return None


def _own_decomposition(op: OnnxOp) -> Decomposition | None:
    """Return gradc's own decomposition, which is more accurate than the function body, or None."""
    found = decomposition_of(op.onnx_name(), Reason.MISSING_KERNEL)
    return found if found is not None and found.replaces_function else None


def _write_own(op: OnnxOp, opset: int, block: Block) -> list[SSAValue] | None:
    """Build gradc's own decomposition and return its values for the used results, or None."""
    found, emit = _own_decomposition(op), OpBuilder()
    values = None if found is None else decompose(found.body, op, emit)
    if values is None:
        return None
    for made in emit.ops:
        made.location = op.location
        block.add_op(made)
    return [value for result, value in zip(op.results, values, strict=True) if result.first_use is not None]


def _is_legal(op: Operation, target: Target, depth: int) -> bool:
    """Return whether the target implements an op, or a decomposition that now replaces it."""
    if not _is_missing(op, target):
        return True
    return isinstance(op, OnnxOp) and _replace(op, target, depth + 1)


def _onnx_body(op: OnnxOp, opset: int, block: Block) -> list[SSAValue]:
    """Inline the ONNX function body into `block` and return its values for the used results."""
    schema = onnx.defs.get_schema(op.onnx_name(), max_inclusive_version=max(opset, opset_range(op)[0]))
    if not _body_versions(schema):  # a version older than the body, with the same meaning
        schema = onnx.defs.get_schema(op.onnx_name())
    operands = op.onnx_inputs()
    node = _node(op, schema)
    function, version = _body(schema, node, [_type(value) for value in operands], opset)
    given = {attribute.name: attribute for attribute in node.attribute}
    defaults = {n: a.default_value for n, a in schema.attributes.items() if a.default_value.name}
    declared = [_type_or_none(result.type) for result in op.results]
    results = body_of(
        function, version, block, operands, defaults | given, declared, op.location, name_of(op)
    )
    values: dict[SSAValue, SSAValue | None] = dict(zip(op.results, results, strict=False))
    found = [values.get(result) for result in _results_in_use(op)]
    if None in found:
        raise violation(f"results of {op.onnx_name()}", expected="all that are read")
    return [value for value in found if value is not None]


def _body(schema: Any, node: NodeProto, types: Sequence[TypeProto], opset: int) -> tuple[FunctionProto, int]:
    """Return the newest body that the opset admits, else the oldest, with its opset version."""
    versions = _body_versions(schema)
    version = max((v for v in versions if v <= opset), default=min(versions))
    if version in schema.context_dependent_function_opset_versions:
        content = schema.get_context_dependent_function_with_opset_version(
            version, node.SerializeToString(), [type_.SerializeToString() for type_ in types]
        )
    else:
        content = schema.get_function_with_opset_version(version)
    function = FunctionProto()
    function.ParseFromString(content)
    return function, version


def _node(op: OnnxOp, schema: Any) -> NodeProto:
    inputs = ["" if value is None else f"in{i}" for i, value in enumerate(op.onnx_inputs())]
    unread = op.unread_results()
    outputs = ["" if result in unread else f"out{i}" for i, result in enumerate(op.results)]
    while outputs and not outputs[-1]:
        outputs.pop()
    node = NodeProto(op_type=op.onnx_name(), input=inputs, output=outputs)
    for name, value in sorted(op.onnx_properties().items()):
        if name not in schema.attributes:  # its default is the meaning of the older version
            continue
        kind = str(schema.attributes[name].type).rpartition(".")[2]
        fill_attribute(node.attribute.add(name=name), kind, value)
    return node


def _type(value: SSAValue | None) -> TypeProto:
    known = None if value is None else _type_or_none(value.type)
    return TypeProto() if known is None else type_proto(known)


def _type_or_none(type_: Attribute) -> Attribute | None:
    return None if isinstance(type_, UnknownType) else type_
