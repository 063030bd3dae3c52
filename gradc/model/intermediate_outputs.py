"""Models with intermediate values as additional outputs, to locate differences between two models."""

from __future__ import annotations

import os
from collections.abc import Collection, Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from onnx import GraphProto, ModelProto, NodeProto

from gradc.model.external_data import open_model
from gradc.model.order import names_read, topological_order
from gradc.model.split_model import ModelParts


@dataclass(frozen=True)
class Step:
    """A node of a main graph; `reads` includes its subgraphs' reads, `makes` are its outputs."""

    place: int
    name: str
    kind: str
    reads: tuple[str, ...]
    makes: tuple[str, ...]
    nodes: tuple[str, ...] = ()
    """Names of the node and of those in its subgraphs."""

    def __str__(self) -> str:
        return f'node {self.place}, {self.kind} "{self.name or self.makes[0]}"'


def steps_of_file(path: str | os.PathLike[str]) -> list[Step]:
    """Return the nodes of a model in topological order."""
    with open_model(os.fspath(path)) as (model, _):
        return list(_steps(model.graph))


def _steps(graph: GraphProto) -> Iterator[Step]:
    for place, node in topological_order(graph.node):
        reads = tuple(name for name in names_read(node) if name)
        nodes = tuple(map(_name, _all([node])))
        yield Step(place, node.name, node.op_type, reads, tuple(filter(None, node.output)), nodes)


def values_after(path: str | os.PathLike[str], nodes: Collection[str]) -> set[str]:
    """Return the values of a main graph that depend on some nodes; `f/n` is node n of the function called by
    f."""
    known = {"/".join(parts[: n + 1]) for parts in map(_path, nodes) for n in range(len(parts))}
    found = set[str]()
    for step in steps_of_file(path):
        if any(name in known for name in step.nodes) or any(name in found for name in step.reads):
            found.update(step.makes)
    return found


def kinds_of_file(path: str | os.PathLike[str], kinds: Container[str]) -> dict[str, str]:
    """Return node name -> op for all nodes of some ops; an unnamed node has the name of its first output."""
    with open_model(os.fspath(path)) as (model, _):
        nodes = [*model.graph.node, *(node for function in model.functions for node in function.node)]
        return {_name(node): node.op_type for node in _all(nodes) if node.op_type in kinds}


def _all(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    """Yield nodes and those of their subgraphs."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            yield from _all(attribute.g.node)


def _name(node: NodeProto) -> str:
    return node.name or next(iter(node.output), "")


def _path(name: str) -> list[str]:
    return name.split("/")


def content_with(path: Path, names: Iterable[str]) -> bytes:
    """Return the bytes of a model with additional outputs, appended because protobuf merges repeated
    fields."""
    return path.read_bytes() + _outputs(names).SerializeToString()


def parts_with(parts: ModelParts, names: Iterable[str]) -> ModelParts:
    """Return a model with additional outputs, without copying its weights."""
    proto = ModelProto()
    proto.CopyFrom(parts.proto)
    proto.MergeFrom(_outputs(names))
    return ModelParts(proto, parts.weights)


def values_of(parts: ModelParts) -> set[str]:
    """Return the names of the outputs of the main graph's nodes."""
    return {name for node in parts.proto.graph.node for name in node.output if name}


def _outputs(names: Iterable[str]) -> ModelProto:
    model = ModelProto()
    for name in names:
        model.graph.output.add(name=name)
    return model
