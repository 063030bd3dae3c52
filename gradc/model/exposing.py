"""Models that also give values within them, for looking at where two models part."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from onnx import GraphProto, ModelProto

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

    def __str__(self) -> str:
        return f'node {self.place}, {self.kind} "{self.name or self.makes[0]}"'


def steps_of_file(path: str | os.PathLike[str]) -> list[Step]:
    """The nodes of a model in an order in which each stands behind those that it reads."""
    with stored_model(os.fspath(path)) as (model, _):
        return list(_steps(model.graph))


def _steps(graph: GraphProto) -> Iterator[Step]:
    for place, node in ordered(graph.node):
        reads = tuple(name for name in names_read(node) if name)
        yield Step(place, node.name, node.op_type, reads, tuple(filter(None, node.output)))


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
