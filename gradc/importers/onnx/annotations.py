"""Annotations that change no value: metadata, doc strings, denotations, quantization."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from onnx import GraphProto, NodeProto, TypeProto, ValueInfoProto
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from dialects.support import entry


def texts_of(pairs: Iterable[Any]) -> DictionaryAttr:
    """Return key-value entries as a dictionary; bytes that are not text are dropped."""
    return DictionaryAttr({p.key: StringAttr(p.value) for p in pairs if isinstance(p.value, str) and p.key})


def annotate_edge(
    function: FuncOp, inputs: Iterable[ValueInfoProto], outputs: Iterable[ValueInfoProto]
) -> None:
    """Store the annotations of inputs and outputs as attributes of the function."""
    found = [[_of_value(info) for info in side] for side in (inputs, outputs)]
    entry.annotate(function, *found)


def _of_value(info: ValueInfoProto) -> dict[str, Attribute]:
    found: dict[str, Attribute] = {}
    if isinstance(info.doc_string, str) and info.doc_string:
        found[entry.DOC] = StringAttr(info.doc_string)
    if info.metadata_props:
        found[entry.PROPERTIES] = texts_of(info.metadata_props)
    if denoted := _denotations(info.type):
        found[entry.DENOTATIONS] = DictionaryAttr(denoted)
    return found


def _denotations(type_: TypeProto) -> dict[str, Attribute]:
    """Return the denotation of a type under '', and those of its dims under their axis numbers."""
    dims = type_.tensor_type.shape.dim if type_.HasField("tensor_type") else ()
    texts = {"": type_.denotation} | {str(axis): dim.denotation for axis, dim in enumerate(dims)}
    return {key: StringAttr(text) for key, text in texts.items() if text and isinstance(text, str)}


def annotate_module(module: ModuleOp, graph: GraphProto, nodes: Mapping[str, Attribute]) -> None:
    """Store the annotations of the graph, its initializers and its named nodes on the module."""
    tensors = [*graph.initializer, *(sparse.values for sparse in graph.sparse_initializer)]
    docs = {
        t.name: StringAttr(t.doc_string) for t in tensors if isinstance(t.doc_string, str) and t.doc_string
    }
    found: dict[str, Mapping[str, Attribute]] = {
        "graph": texts_of(graph.metadata_props).data,
        "node": nodes,
        "tensor": {t.name: texts_of(t.metadata_props) for t in tensors if t.metadata_props},
        "tensor_doc": docs,
        "quantization": {
            annotation.tensor_name: texts_of(annotation.quant_parameter_tensor_names)
            for annotation in graph.quantization_annotation
        },
    }
    parts: dict[str, Attribute] = {name: DictionaryAttr(part) for name, part in found.items() if part}
    if parts:
        module.attributes[entry.ANNOTATIONS] = DictionaryAttr(parts)


def note_node(node: NodeProto, name: str, known: dict[str, Attribute]) -> None:
    """Store the metadata of a node; of several nodes with one name, the first counts."""
    if name and node.metadata_props:
        known.setdefault(name, texts_of(node.metadata_props))
