"""Importer of ONNX models: protos to verified modules of the onnx dialect."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import onnx
from onnx import AttributeProto, FunctionProto, ModelProto
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    LocationAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from dialects.onnx.domains import BLOCK
from dialects.onnx.types import UnknownType
from dialects.support import entry
from dialects.support.attributes import int_attribute
from dialects.support.diagnostics import violation
from gradc.importers.onnx import validity
from gradc.importers.onnx.ai_onnx_ml_types import ML
from gradc.importers.onnx.annotations import annotate_edge, annotate_module
from gradc.importers.onnx.blocks import channels_of_block
from gradc.importers.onnx.locations import at
from gradc.importers.onnx.node_reader import NodeReader
from gradc.importers.onnx.rewrites import Rewrites
from gradc.importers.onnx.scope import Scope, versions_of
from gradc.importers.onnx.types import check_text, type_of
from gradc.model.external_data import TensorData

PRODUCER = "gradc"
"""The producer of models whose inputs with initializers are trainable weights."""


def module_of(
    model: ModelProto,
    data: TensorData,
    *,
    for_gradients: Collection[str] | None = None,
    rewrites: Rewrites | None = None,
) -> ModuleOp:
    """Import a model; `data` reads its external tensors. Raises GradcError.

    `for_gradients`, if a gradient is taken, names the ops with user rules. `rewrites` replaces ops of other
    domains as they are read, so that the ops after them have types; without it they stay.
    """
    graph = model.graph
    validity.check_training_info(model)
    with at("graph"):
        check_text(graph.name)
    versions = versions_of(model.opset_import, model.ir_version)
    block = Block()
    scope = Scope(block, versions, data)
    reader = NodeReader(validity.functions_by_key(model), for_gradients, rewrites)
    reader.of_model = {BLOCK: channels_of_block(model)}
    scope.add_weights(graph.initializer, graph.sparse_initializer)
    inputs = [value for value in graph.input if value.name not in scope.weights]
    for value in graph.input:
        with at(f'input "{value.name}"'):
            type_ = type_of(value.type)
            if value.name in scope.weights:
                validity.check_default(type_, scope.weights[value.name])
            else:
                scope.define(value.name, block.insert_arg(_check_known(type_), len(block.args)))
    scope.infos |= {info.name: info for info in _infer(model)}
    reader.fill(scope, graph)
    returned = []
    for value in graph.output:
        with reader.errors.collecting(), at(f'output "{value.name}"'):
            returned.append(scope.required(value.name))
            validity.check_declared(type_of(value.type), returned[-1].type)
    reader.errors.check()
    if for_gradients is not None:
        scope.add_unused()
    block.add_op(ReturnOp(*returned))
    types = [value.type for value in block.args], [value.type for value in returned]
    function = FuncOp(graph.name or "main", types, Region(block))
    entry.set_edge(function, inputs=_edge("input", inputs), outputs=_edge("output", graph.output))
    annotate_edge(function, inputs, graph.output)
    module = ModuleOp([function])
    annotate_module(module, graph, reader.properties)
    module.attributes[entry.OPSET] = int_attribute(versions.get("", 1))
    if model.metadata_props:
        given = {prop.key: StringAttr(prop.value) for prop in model.metadata_props}
        module.attributes[entry.METADATA] = DictionaryAttr(given)
    optional = [value.name for value in graph.input if value.name in scope.weights]
    if optional and for_gradients is None and model.producer_name == PRODUCER:
        module.attributes[entry.OPTIONAL] = ArrayAttr(map(StringAttr, optional))
    if reader.docs:
        module.attributes[entry.NODE_DOCS] = DictionaryAttr(reader.docs)
    if about := _about(model):
        module.attributes[entry.ABOUT] = DictionaryAttr(about)
    return module


def _about(model: ModelProto) -> dict[str, Attribute]:
    """Return the texts of the model's and the graph's descriptive fields."""
    texts = {
        "doc_string": model.doc_string,
        "domain": model.domain,
        "graph.doc_string": model.graph.doc_string,
        "model_version": str(model.model_version or ""),
    }
    return {name: StringAttr(text) for name, text in texts.items() if text and isinstance(text, str)}


def body_of(
    function: FunctionProto,
    version: int,
    block: Block,
    operands: Sequence[SSAValue | None],
    bindings: Mapping[str, AttributeProto],
    declared: Sequence[Attribute | None],
    place: LocationAttr,
    name: str = "",
) -> list[SSAValue | None]:
    """Inline a function of the standard domain into a block and return its results. Ops get the location
    `place`, value names the prefix `name`; `declared` are the result types."""
    versions = {"": version, **versions_of(function.opset_import)}
    scope = Scope(block, versions, TensorData(), prefix=f"{name}/" if name else "", bindings=bindings)
    scope.values |= zip(function.input, operands, strict=False)
    scope.values |= dict.fromkeys(function.input[len(operands) :])
    scope.types |= {name: type_ for name, type_ in zip(function.output, declared, strict=False) if type_}
    reader = NodeReader({}, None)
    reader.fill(scope, function)
    reader.errors.check()
    for op in block.ops:
        op.location = place
    return [scope.value(name) if name in scope.values else None for name in function.output]


def _infer(model: ModelProto) -> Sequence[onnx.ValueInfoProto]:
    """Return onnx's inferred types of machine learning ops, which the dialect does not model."""
    if not any(node.domain == ML for node in model.graph.node):
        return ()
    try:
        graph = onnx.shape_inference.infer_shapes(model).graph
    except Exception:  # an invalid model: the importer reports the error
        return ()
    return (*graph.value_info, *graph.output)


def _edge(role: str, values: Sequence[onnx.ValueInfoProto]) -> list[tuple[str, Attribute]]:
    found = []
    for value in values:
        with at(f'{role} "{value.name}"'):
            found.append((value.name, type_of(value.type, exact=True)))
    return found


def _check_known(type_: Attribute) -> Attribute:
    if isinstance(type_, UnknownType):
        raise violation("type", given="none", expected="a type of ONNX")
    return type_
