"""Importer of oneDNN Graph JSON.

Equal tensor ids are the only link between ops. Graph inputs are consumed but not produced; outputs are
produced and not consumed, fed to an `End`, or listed in output_ports. The port lists otherwise only give the
order: in real dumps they repeat ids and can be stale.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    ModuleOp,
    NoneType,
    StringAttr,
    TensorType,
    UnrankedTensorType,
    UnregisteredOp,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from dialects.onednn import ConvolutionBackwardDataOp
from dialects.onednn.base import IMPLIED, RULE, OneDNNConvOp
from dialects.support import dtypes, layouts, limits, shapes
from dialects.support.attributes import documented_attributes
from dialects.support.diagnostics import Diagnostic, GradcError, Position, location, sentence
from dialects.support.documented_op import Declared, DocumentedOp, build, check_listed_results
from dialects.support.entry import set_names
from dialects.support.error_list import Errors, combine
from dialects.support.shapes import Shape
from gradc.graph.checks import check_sizes
from gradc.importers.onednn import json_positions
from gradc.importers.onednn.document import UNDEF, Document, Node, Tensor, read_document, unsupported_kinds
from gradc.importers.onednn.grouped_scales import WITHOUT_SCALES, find_grouped_scales, scale_weights

SOURCE_ID = "source.id"


def import_json(text: str | bytes, file: str, auto_pad_rule: str | None = None) -> ModuleOp:
    """Import a JSON text; `file` is its name in diagnostics. Raises GradcError."""
    try:
        return import_document(json_positions.parse(text, file), auto_pad_rule)
    except GradcError as error:
        start = Position(file, 1, 1)
        raise error.map_diagnostics(lambda d: d if d.position else replace(d, position=start)) from None


def import_document(document: Mapping[str, Any], auto_pad_rule: str | None = None) -> ModuleOp:
    """Import a parsed document: `func.func @main` with the source ops in topological order.

    `auto_pad_rule` is that of every op. Without it, an op has the document's rule, else the library's: a dump
    comes from the library, so `auto_pad` means what it means there. Inputs and outputs are named `t<tensor
    id>`. Raises GradcError for an invalid document, UnsupportedError for unsupported kinds; its `graph` is
    the part that was imported.
    """
    return import_documents([document], auto_pad_rule)


def import_documents(documents: Sequence[Mapping[str, Any]], auto_pad_rule: str | None = None) -> ModuleOp:
    """Import the parts of one graph, such as the library's dumps of its partitions, in any order.

    Equal tensor ids in different documents are one tensor; a tensor that one document produces and another
    consumes is not an output.
    """
    refusals = [refusal for refusal in map(unsupported_kinds, documents) if refusal is not None]
    if not refusals:
        return _module_of(documents, auto_pad_rule)
    try:
        graph = _module_of(documents, auto_pad_rule)
    except GradcError as error:
        graph, refusals = error.graph, [*refusals, error]
    refusal = combine(refusals)
    refusal.graph = graph
    raise refusal


def _module_of(documents: Sequence[Mapping[str, Any]], auto_pad_rule: str | None) -> ModuleOp:
    read = _merge([read_document(document) for document in documents])
    limits.check("ops", len(read.nodes), "ops of the graph")
    _check_ids(read.nodes)
    _check_records(read.nodes)
    producers = _producers(read.nodes)
    ordered = _topological_sort(read.nodes, producers)
    inputs = _inputs(read, ordered, producers)
    outputs = _outputs(read, ordered, producers)
    module = _module(read, ordered, inputs, outputs, auto_pad_rule)
    check_sizes(module)
    return module


def _merge(documents: Sequence[Document]) -> Document:
    """Merge documents. A tensor that one produces and another consumes is no port, unless an End reads it."""
    if len(documents) == 1:
        return documents[0]
    taken = [{tensor.id for node in document.nodes for tensor in node.inputs} for document in documents]

    def leaves(index: int, identifier: int) -> bool:
        return not any(identifier in ids for other, ids in enumerate(taken) if other != index)

    return Document(
        tuple(node for document in documents for node in document.nodes),
        tuple(port for document in documents for port in document.input_ports),
        tuple(
            port
            for index, document in enumerate(documents)
            for port in document.output_ports
            if leaves(index, port)
        ),
        documents[0].position,
    )


def _check_ids(nodes: Sequence[Node]) -> None:
    seen: dict[int, Node] = {}
    errors = []
    for node in nodes:
        other = seen.setdefault(node.id, node)
        if other is not node:
            errors.append(node.error(f'op id {node.id} is given to "{other.name}" and "{node.name}"'))
    _raise(errors)


def _raise(errors: Sequence[GradcError]) -> None:
    if errors:
        raise combine(errors)


def _check_records(nodes: Sequence[Node]) -> None:
    """Check that all records of a tensor agree."""
    seen: dict[int, tuple[Node, Tensor]] = {}
    errors = []
    for node in nodes:
        for tensor in (*node.inputs, *node.outputs):
            other_node, other = seen.setdefault(tensor.id, (node, tensor))
            if (tensor.dtype, tensor.shape) != (other.dtype, other.shape):
                error = node.error(
                    f"tensor {tensor.id} differs between its records",
                    given=f"{_type_text(tensor)} by {_label(node)}",
                    expected=f"{_type_text(other)} as by {_label(other_node)}",
                    at=tensor,
                )
                errors.append(error)
    _raise(errors)


def _type_text(tensor: Tensor) -> str:
    shape = "unknown rank" if tensor.shape is None else shapes.show(tensor.shape)
    return f"{tensor.dtype} {shape}"


def _label(node: Node) -> str:
    return f'op {node.id} "{node.name}"'


def _producers(nodes: Sequence[Node]) -> dict[int, Node]:
    """Return the producer of each tensor id; raise if there are several."""
    found: dict[int, Node] = {}
    errors = []
    for node in nodes:
        if (expected := _wrong_count(node)) is not None:
            errors.append(node.error("number of outputs", given=len(node.outputs), expected=expected))
        for tensor in node.outputs:
            if (other := found.get(tensor.id)) is not None:
                what = f"tensor {tensor.id} is produced by {_label(other)} and by {_label(node)}"
                twice = f"tensor {tensor.id} is produced twice by {_label(node)}"
                errors.append(node.error(twice if other is node else what, at=tensor))
            found[tensor.id] = node
    _raise(errors)
    return found


def _wrong_count(node: Node) -> int | str | None:
    """Return the expected number of outputs if a record has another, else None. Attributes may require more
    than the minimum."""
    most = 0 if node.op is None else len(node.op.RESULTS)
    if node.op is None and not node.is_end:
        return None
    least = min(most, 1)
    if least <= len(node.outputs) <= most:
        return None
    return most if least == most else f"{least} to {most}"


def _topological_sort(nodes: Sequence[Node], producers: Mapping[int, Node]) -> list[Node]:
    """Sort producers before consumers, otherwise in document order. Raises GradcError for a cycle."""
    place = {node.id: index for index, node in enumerate(nodes)}
    needs = {node.id: _predecessors(node, producers) for node in nodes}
    waiting = {identifier: len(needed) for identifier, needed in needs.items()}
    consumers: dict[int, list[int]] = {}
    for identifier, needed in needs.items():
        for producer in needed:
            consumers.setdefault(producer, []).append(identifier)
    ready = [place[identifier] for identifier, count in waiting.items() if count == 0]
    ordered: list[Node] = []
    while ready:
        node = nodes[heapq.heappop(ready)]
        ordered.append(node)
        for consumer in consumers.get(node.id, ()):
            waiting[consumer] -= 1
            if waiting[consumer] == 0:
                heapq.heappush(ready, place[consumer])
    if len(ordered) < len(nodes):
        raise _cycle([node for node in nodes if waiting[node.id]], needs)
    return ordered


def _predecessors(node: Node, producers: Mapping[int, Node]) -> list[int]:
    """Return the ids of the ops whose results a node reads, each once."""
    return list(dict.fromkeys(producers[t.id].id for t in node.inputs if t.id in producers))


def _cycle(stuck: Sequence[Node], needs: Mapping[int, Sequence[int]]) -> GradcError:
    """Return the error for a cycle; every remaining op waits for another, so walking back finds one."""
    nodes = {node.id: node for node in stuck}
    path = [stuck[0].id]
    while path.count(path[-1]) == 1:
        path.append(next(p for p in needs[path[-1]] if p in nodes))
    cycle = path[path.index(path[-1]) :][::-1]
    names = " -> ".join(f'"{nodes[identifier].name}"' for identifier in cycle)
    what = f"the ops form a cycle: {' -> '.join(map(str, cycle))} ({names})"
    return nodes[cycle[0]].error(what)


def _inputs(
    document: Document, ordered: Sequence[Node], producers: Mapping[int, Node]
) -> dict[int, TensorType]:
    """Return the types of the graph inputs by tensor id, in order; the first consumer's record decides."""
    used: dict[int, tuple[Node, Tensor]] = {}
    for node in ordered:
        for tensor in node.inputs:
            if tensor.id not in producers:
                used.setdefault(tensor.id, (node, tensor))
    listed = [identifier for identifier in document.input_ports if identifier in used]
    errors, types = Errors(), {}
    for identifier in dict.fromkeys((*listed, *used)):
        with errors.collecting():
            types[identifier] = _input_type(*used[identifier])
    errors.check()
    return types


def _input_type(node: Node, tensor: Tensor) -> TensorType:
    what = f"tensor {tensor.id} ({tensor.port})"
    if tensor.shape is None:
        raise node.error(f"shape of {what}", given="unknown rank", expected="a known rank", at=tensor)
    dtype = dtypes.by_name(tensor.dtype)
    if dtype is None:
        raise node.error(f"dtype of {what}", given=UNDEF, expected="a known dtype", at=tensor)
    return shapes.tensor_type(dtype.mlir, tensor.shape)


def _outputs(document: Document, ordered: Sequence[Node], producers: Mapping[int, Node]) -> list[int]:
    consumed = {tensor.id for node in ordered for tensor in node.inputs}
    produced = [tensor.id for node in ordered for tensor in node.outputs]
    ended = [tensor.id for node in ordered if node.is_end for tensor in node.inputs]
    for identifier in document.output_ports:
        if identifier not in producers and identifier not in ended:
            message = sentence(
                f"output_ports lists tensor {identifier}, which no op produces",
                expected=f"among {', '.join(map(str, produced)) or 'none'}",
            )
            raise GradcError(Diagnostic("error", message, position=document.position))
    wanted = {*ended, *document.output_ports}
    kept = [identifier for identifier in produced if identifier not in consumed or identifier in wanted]
    return list(dict.fromkeys((*document.output_ports, *kept, *ended)))


def _module(
    document: Document,
    ordered: Sequence[Node],
    inputs: Mapping[int, TensorType],
    outputs: Sequence[int],
    auto_pad_rule: str | None,
) -> ModuleOp:
    block = Block(arg_types=inputs.values())
    values: dict[int, SSAValue] = dict(zip(inputs, block.args, strict=True))
    errors, grouped = Errors(), find_grouped_scales(ordered)
    for node in ordered:
        if node.is_end:
            continue
        operands = [values[tensor.id] for tensor in node.inputs]
        ops: Sequence[Operation] = ()
        with errors.collecting():
            if node.op is not None and all(map(_is_typed, operands)):
                ops = _ops(node, node.op, operands, auto_pad_rule, grouped.get(node.id))
        ops = ops or [_placeholder(node, operands)]
        block.add_ops(ops)
        values |= zip((tensor.id for tensor in node.outputs), ops[-1].results, strict=False)
    for identifier, value in values.items():
        value.name_hint = f"t{identifier}"
    returned = [values[identifier] for identifier in outputs]
    block.add_op(ReturnOp(*returned))
    types = (list(inputs.values()), [value.type for value in returned])
    function = FuncOp("main", types, Region(block))
    set_names(function, _names(inputs), _names(outputs))
    module = ModuleOp([function])
    for op in (block.last_op, function, module):
        assert op is not None
        op.location = location(position=document.position)
    if errors.found:
        error = combine(errors.found)
        error.graph = module
        raise error
    return module


def _is_typed(value: SSAValue) -> bool:
    """Return whether a value has a known rank and dtype; results of unknown ops may lack them."""
    return isinstance(value.type, TensorType) and not isinstance(value.type.element_type, NoneType)


def _placeholder(node: Node, operands: Sequence[SSAValue]) -> Operation:
    """Return a placeholder op, used in drawings, for an op that is unsupported or invalid."""
    types = [_type_of_record(tensor) for tensor in node.outputs]
    op = UnregisteredOp.with_name(node.kind).create(operands=operands, result_types=types)
    op.attributes[SOURCE_ID] = StringAttr(str(node.id))
    op.location = location(node.name, node.position)
    return op


def _type_of_record(tensor: Tensor) -> Attribute:
    dtype = dtypes.by_name(tensor.dtype)
    element = NoneType() if dtype is None else dtype.mlir
    return UnrankedTensorType(element) if tensor.shape is None else shapes.tensor_type(element, tensor.shape)


def _names(identifiers: Iterable[int]) -> list[str]:
    return [f"t{identifier}" for identifier in identifiers]


def _ops(
    node: Node,
    cls: type[DocumentedOp],
    operands: Sequence[SSAValue],
    rule: str | None,
    factors: np.ndarray | None,
) -> Sequence[Operation]:
    """Return the ops of a node, the last with its results; `factors` are from `find_grouped_scales`."""
    if factors is None:
        return [_build(node, cls, operands, rule)]
    return scale_weights(_build(replace(node, attributes=WITHOUT_SCALES), cls, operands, rule), factors)


def _build(
    node: Node, cls: type[DocumentedOp], operands: Sequence[SSAValue], auto_pad_rule: str | None
) -> DocumentedOp:
    declared = [_record_types(node, cls, tensor) for tensor in node.outputs[: len(cls.RESULTS)]]
    try:
        op = build(
            cls,
            operands,
            _with_rule(node, cls, auto_pad_rule),
            declared=declared,
            location=location(node.name, node.position),
            discardable={SOURCE_ID: StringAttr(str(node.id))},
        )
        check_listed_results(op, len(node.outputs))
    except GradcError as error:
        raise error.map_diagnostics(lambda d: replace(d, position=_position_of(node, d))) from None
    if isinstance(op, OneDNNConvOp) and op.is_same and not _states_rule(node, op):
        op.attributes[IMPLIED] = StringAttr(RULE)
    return op


def _position_of(node: Node, diagnostic: Diagnostic) -> Position | None:
    """Return the position that the diagnostic's message begins with, in the node's record."""
    return node.position_of_message(diagnostic.message.partition(": ")[0]) or diagnostic.position


def _states_rule(node: Node, op: OneDNNConvOp) -> bool:
    """Return whether the document states the rule that the op got."""
    spec = documented_attributes(type(op))[RULE].spec
    return RULE in node.attributes and spec.plain(node.attributes[RULE]) == op.value(RULE)


def _with_rule(node: Node, cls: type[DocumentedOp], forced: str | None) -> dict[str, Any]:
    if RULE not in documented_attributes(cls):
        return dict(node.attributes)
    rule = forced or node.attributes.get(RULE, "library")
    return {RULE: rule} | {name: value for name, value in node.attributes.items() if name != RULE}


def _record_types(node: Node, cls: type[DocumentedOp], tensor: Tensor) -> Declared:
    dtype = dtypes.by_name(tensor.dtype)
    return Declared(_record_shape(node, cls, tensor.shape), dtype.mlir if dtype else None)


def _record_shape(node: Node, cls: type[DocumentedOp], shape: Shape | None) -> Shape | None:
    """Return the result's declared shape, without the sizes that a run-time input overrides."""
    if cls is not ConvolutionBackwardDataOp or len(node.inputs) < 3 or shape is None or len(shape) < 3:
        return shape
    spec = documented_attributes(cls)["data_format"].spec
    layout = spec.plain(node.attributes.get("data_format", spec.default))
    spatial = layouts.spatial_axes(layout, len(shape) - 2)
    return tuple(None if axis in spatial else dim for axis, dim in enumerate(shape))
