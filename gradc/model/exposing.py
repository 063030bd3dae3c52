"""Models that also give values within them, for looking at where two models part."""

from __future__ import annotations

import os
from collections.abc import Collection, Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from onnx import GraphProto, ModelProto, NodeProto

from gradc.model.foreign import stored_model
from gradc.model.order import names_read, ordered
from gradc.model.parts import ModelParts


@dataclass(frozen=True)
class Step:
    """A node of a main graph, what it reads, within its graphs as well, and what it makes."""

    place: int
    name: str
    kind: str
    reads: tuple[str, ...]
    makes: tuple[str, ...]
    nodes: tuple[str, ...] = ()
    """The names of the node and of those in graphs within it."""

    def __str__(self) -> str:
        return f'node {self.place}, {self.kind} "{self.name or self.makes[0]}"'


def steps_of_file(path: str | os.PathLike[str]) -> list[Step]:
    """The nodes of a model in an order in which each stands behind those that it reads."""
    with stored_model(os.fspath(path)) as (model, _):
        return list(_steps(model.graph))


def _steps(graph: GraphProto) -> Iterator[Step]:
    for place, node in ordered(graph.node):
        reads = tuple(name for name in names_read(node) if name)
        nodes = tuple(map(_name, _all([node])))
        yield Step(place, node.name, node.op_type, reads, tuple(filter(None, node.output)), nodes)


def values_after(path: str | os.PathLike[str], nodes: Collection[str]) -> set[str]:
    """The values of a main graph that depend on what some nodes make; `f/n` is a node of a function, which
    the node f calls."""
    known = {"/".join(parts[: n + 1]) for parts in map(_path, nodes) for n in range(len(parts))}
    found = set[str]()
    for step in steps_of_file(path):
        if any(name in known for name in step.nodes) or any(name in found for name in step.reads):
            found.update(step.makes)
    return found


def kinds_of_file(path: str | os.PathLike[str], kinds: Container[str]) -> dict[str, str]:
    """Node name -> op, for the nodes of some ops wherever they are in a model; an unnamed node is called
    after its first output."""
    with stored_model(os.fspath(path)) as (model, _):
        nodes = [*model.graph.node, *(node for function in model.functions for node in function.node)]
        return {_name(node): node.op_type for node in _all(nodes) if node.op_type in kinds}


def _all(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    """The nodes, and those of the graphs within them."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            yield from _all(attribute.g.node)


def _name(node: NodeProto) -> str:
    return node.name or next(iter(node.output), "")


def _path(name: str) -> list[str]:
    return name.split("/")


def content_with(path: Path, names: Iterable[str]) -> bytes:
    """The bytes of a model's file and some more, for further outputs: protobuf joins what is there twice."""
    return path.read_bytes() + _outputs(names).SerializeToString()


def parts_with(parts: ModelParts, names: Iterable[str]) -> ModelParts:
    """A model in parts with further outputs; its weights are not copied."""
    proto = ModelProto()
    proto.CopyFrom(parts.proto)
    proto.MergeFrom(_outputs(names))
    return ModelParts(proto, parts.weights)


def values_of(parts: ModelParts) -> set[str]:
    """The names of what the nodes of the main graph make."""
    return {name for node in parts.proto.graph.node for name in node.output if name}


def _outputs(names: Iterable[str]) -> ModelProto:
    model = ModelProto()
    for name in names:
        model.graph.output.add(name=name)
    return model
