"""Opaque nodes of the standard domain in the form of a newer opset."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import LocationAttr, ModuleOp, NoneType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.onnx.node import NodeOp
from dialects.support.diagnostics import GradcError
from gradc.importers.onnx.source import Source
from gradc.importers.onnx.upgrade import raise_form
from gradc.model.exported_domains import is_of_opset

Raised = tuple[list[Operation], list[SSAValue | None]]
"""New ops, and the values of the first results."""


def raise_nodes(module: ModuleOp, opset: int) -> None:
    """Replace the opaque nodes that have another form at an opset; a node whose upgrade needs types stays."""
    for op in [op for op in module.walk() if isinstance(op, NodeOp)]:
        raised = raise_node(op, opset, op.location)
        if raised is None:
            continue
        new, values = raised
        missing: list[SSAValue | None] = [None] * (len(op.results) - len(values))
        if any(result.uses for result in op.results[len(values) :]):
            _drop(new)
            continue
        Rewriter.insert_op(new, InsertPoint.before(op))
        Rewriter.replace_op(op, [], [*values, *missing])


def raise_node(op: NodeOp, opset: int, place: LocationAttr) -> Raised | None:
    """Return a standard node in its form at an opset, None for one that has that form, that has no results
    or whose upgrade needs types. A form without the last results has fewer values than the node."""
    if not op.is_standard or op.regions or not op.results or is_of_opset(op, opset):
        return None
    assert op.version is not None
    block = Block()
    node = Source(
        op.op_type.data,
        op.version.value.data,
        op.onnx_inputs(),
        dict(op.given.data),
        {},
        [result.type for result in op.results],
        block,
        place,
    )
    try:
        version = raise_form(node, opset)
    except GradcError:
        _drop([*block.ops])
        return None
    if version == node.since:
        return None
    values = list(node.replaced)
    if not values:
        types = [NoneType() if type_ is None else type_ for type_ in node.declared]
        new = NodeOp("", node.op_type, node.operands, types, node.attributes, {}, version)
        node.emit(new)
        values += new.results
    ops = [*block.ops]
    for one in ops:
        one.detach()
    return ops, values


def _drop(ops: Sequence[Operation]) -> None:
    """Release the uses of the operands of new ops."""
    for op in ops:
        op.detach()
        op.drop_all_references()
