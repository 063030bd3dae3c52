"""Copying of the source model's annotations to the output (`gradc.importers.onnx.annotations`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from onnx import GraphProto, NodeProto, ValueInfoProto
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute

from dialects.support import entry

OWN = "gradc."
"""Prefix of this compilation's keys, which are not copied."""


class Annotations:
    """Annotations of the source model's graph, nodes and tensors, by name."""

    def __init__(self, module: ModuleOp):
        given = module.attributes.get(entry.ANNOTATIONS)
        parts = given.data if isinstance(given, DictionaryAttr) else {}
        self.parts = {name: _dictionary(part) for name, part in parts.items()}

    def annotate_node(self, node: NodeProto, source: str) -> None:
        """Add the metadata of the source node from which an op was lowered."""
        _add(node.metadata_props, _dictionary(self.parts.get("node", {}).get(source)))

    def annotate_graph(self, graph: GraphProto) -> None:
        """Add the metadata of the main graph and its initializers, and the quantization annotations."""
        _add(graph.metadata_props, self.parts.get("graph", {}))
        props, docs = self.parts.get("tensor", {}), self.parts.get("tensor_doc", {})
        for tensor in graph.initializer if props or docs else ():
            _add(tensor.metadata_props, _dictionary(props.get(tensor.name)))
            tensor.doc_string = _text(docs.get(tensor.name)) or tensor.doc_string
        quantized = self.parts.get("quantization", {})
        known = _names(graph) if quantized else set()
        for name, parameters in quantized.items():
            tensors = {key: _text(value) for key, value in _dictionary(parameters).items()}
            if name in known and known.issuperset(tensors.values()):
                annotation = graph.quantization_annotation.add(tensor_name=name)
                for key, value in tensors.items():
                    annotation.quant_parameter_tensor_names.add(key=key, value=value)


def annotate_value(info: ValueInfoProto, annotations: Mapping[str, Attribute]) -> None:
    """Add the source's doc string, metadata and denotations of an input or output."""
    if doc := _text(annotations.get(entry.DOC)):
        info.doc_string = doc
    _add(info.metadata_props, _dictionary(annotations.get(entry.PROPERTIES)))
    denoted = {key: _text(text) for key, text in _dictionary(annotations.get(entry.DENOTATIONS)).items()}
    info.type.denotation = denoted.pop("", "")
    dims = info.type.tensor_type.shape.dim if info.type.HasField("tensor_type") else ()
    for axis, text in denoted.items():
        if int(axis) < len(dims):
            dims[int(axis)].denotation = text


def _names(graph: GraphProto) -> set[str]:
    edge = (value.name for value in (*graph.input, *graph.initializer))
    return {*edge, *(name for node in graph.node for name in node.output)}


def _dictionary(given: object) -> Mapping[str, Attribute]:
    return given.data if isinstance(given, DictionaryAttr) else {}


def _text(given: object) -> str:
    return given.data if isinstance(given, StringAttr) else ""


def _add(properties: Any, texts: Mapping[str, Attribute]) -> None:
    found: Iterable[tuple[str, str]] = ((key, _text(text)) for key, text in texts.items())
    for key, text in found:
        if not key.startswith(OWN):
            properties.add(key=key, value=text)
