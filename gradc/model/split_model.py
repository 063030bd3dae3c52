"""Models whose weights are outside of the message, so that each is in memory once.

protobuf copies what a message is given, and copies it again to serialize it. Here weights go from the
module's bytes directly into the file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gradc.model.protobuf_wire import head

if TYPE_CHECKING:
    from onnx import ModelProto, TensorProto

KEPT_BYTES = 1024
"""Initializers up to this size stay in the message: shape inference reads them."""

GRAPH, INITIALIZER, RAW_DATA = 7, 5, 9
"""Field numbers of ModelProto.graph, GraphProto.initializer and TensorProto.raw_data."""


@dataclass(frozen=True, eq=False)
class ModelParts:
    """A model `proto` in which the initializers named in `weights` have no content."""

    proto: ModelProto
    weights: Mapping[str, bytes] = field(default_factory=dict)

    @cached_property
    def weight_bytes(self) -> int:
        """Bytes of all initializers."""
        kept = sum(len(t.raw_data) for t in self.proto.graph.initializer if t.name not in self.weights)
        return kept + sum(map(len, self.weights.values()))

    @cached_property
    def size(self) -> int:
        """Bytes of the complete message."""
        return sum(map(len, self.pieces()))

    def whole(self) -> ModelProto:
        """Return the model as one message, with a copy of the weights."""
        found = type(self.proto)()
        found.CopyFrom(self.proto)
        for tensor in found.graph.initializer:
            if tensor.name in self.weights:
                tensor.raw_data = self.weights[tensor.name]
        return found

    def pieces(self) -> Iterator[bytes]:
        """Yield the reproducible bytes of the complete message without copying a weight."""
        model = type(self.proto)
        graph = list(self._graph_pieces())
        yield _some_fields(self.proto, model(), range(GRAPH))
        yield head(GRAPH, sum(map(len, graph)))
        yield from graph
        yield _some_fields(self.proto, model(), range(GRAPH + 1, 1000))

    def _graph_pieces(self) -> Iterator[bytes]:
        graph = self.proto.graph
        yield _some_fields(graph, type(graph)(), range(INITIALIZER))
        for tensor in graph.initializer:
            start = tensor.SerializeToString(deterministic=True)
            content = self.weights.get(tensor.name)
            if content is None:
                yield head(INITIALIZER, len(start)) + start
                continue
            start += head(RAW_DATA, len(content))
            yield head(INITIALIZER, len(start) + len(content)) + start
            yield content
        yield _some_fields(graph, type(graph)(), range(INITIALIZER + 1, 1000))


def without_initializers(parts: ModelParts, names: Collection[str]) -> ModelParts:
    """Return a model without some initializers."""
    slim = type(parts.proto)()
    slim.CopyFrom(parts.proto)
    for index in reversed(range(len(slim.graph.initializer))):
        if slim.graph.initializer[index].name in names:
            del slim.graph.initializer[index]
    weights = {name: content for name, content in parts.weights.items() if name not in names}
    return ModelParts(slim, weights)


def split_model(model: ModelProto) -> ModelParts:
    """Split a model; its weights are read from it one by one."""
    slim = without_weights(model)
    large: dict[str, TensorProto] = {}
    for tensor in model.graph.initializer:
        if len(tensor.raw_data) <= KEPT_BYTES:
            slim.graph.initializer.append(tensor)
            continue
        slim.graph.initializer.add(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
        large[tensor.name] = tensor
    return ModelParts(slim, _Contents(large))


class _Contents(Mapping[str, bytes]):
    """Contents of tensors; each access returns a new copy."""

    def __init__(self, tensors: Mapping[str, TensorProto]):
        self._tensors = tensors

    def __getitem__(self, name: str) -> bytes:
        return self._tensors[name].raw_data

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)


def without_weights(model: ModelProto) -> ModelProto:
    """Return a copy without initializers. They are not copied at all: protobuf copies some messages by
    serializing them, which fails at 2 GiB."""
    copy = type(model)()
    _copy_fields(model, copy, left_out="graph")
    _copy_fields(model.graph, copy.graph, left_out="initializer")
    return copy


def _some_fields(source: Any, empty: Any, numbers: range) -> bytes:
    """Return the serialized fields of some numbers."""
    for field_, value in source.ListFields():
        if field_.number in numbers:
            _copy(field_.name, value, empty)
    return empty.SerializeToString(deterministic=True)


def _copy_fields(source: Any, target: Any, left_out: str) -> None:
    for field_, value in source.ListFields():
        if field_.name != left_out:
            _copy(field_.name, value, target)


def _copy(name: str, value: Any, target: Any) -> None:
    if hasattr(value, "extend"):
        getattr(target, name).extend(value)
    elif hasattr(value, "CopyFrom"):
        getattr(target, name).CopyFrom(value)
    else:
        setattr(target, name, value)
