"""Weights of a model: initializers and Constant nodes, with their readers."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

from dialects.support import dtypes
from gradc.model.weight_metadata import CHANGED_KEY, REQUIRED_KEY, names_in

CONSTANT, DEFAULT, REQUIRED = "constant", "default", "required"
"""Roles: an initializer; an input with an initializer; an input without one that was a weight."""


@dataclass(frozen=True, eq=False)
class StoredWeight:
    """A weight of a model.

    `tensor` holds its elements; None for a required weight, which has none, and for a sparse one. `is_main`
    is True for an initializer of the main graph.
    """

    name: str
    dtype: str
    shape: Sequence[int | str | None]
    bytes: int
    readers: Sequence[str]
    role: str
    tensor: TensorProto | None = None
    is_main: bool = False


def list_weights(model: ModelProto) -> list[StoredWeight]:
    """Return the weights in the order of the model; those of nested graphs follow those of the main graph.

    A nested weight whose name is not unique in the model is named `<node>.<attribute>/<name>`.
    """
    found = list(_Graph(model.graph, "").weights())
    inputs = {value.name for value in model.graph.input}
    names = Counter(weight.name for _, weight in found)
    named = [
        _with_name(
            weight, f"{path}/{weight.name}" if path and names[weight.name] > 1 else weight.name, inputs, path
        )
        for path, weight in found
    ]
    required = set(_names_in_metadata(model, REQUIRED_KEY))
    readers = _Graph(model.graph, "").readers()
    return named + [
        _of_input(value, readers.get(value.name, ())) for value in model.graph.input if value.name in required
    ]


def names_of_changed_weights(model: ModelProto) -> list[str]:
    """Return the names of weights that gradc transposed, folded or merged when it compiled a model."""
    return _names_in_metadata(model, CHANGED_KEY)


def _names_in_metadata(model: ModelProto, key: str) -> list[str]:
    """Return the names in a metadata entry; none if it is malformed."""
    texts = [entry.value for entry in model.metadata_props if entry.key == key]
    return names_in(texts[0]) if texts else []


def _with_name(weight: StoredWeight, name: str, inputs: set[str], path: str) -> StoredWeight:
    role = DEFAULT if not path and weight.name in inputs else CONSTANT
    return StoredWeight(
        name, weight.dtype, weight.shape, weight.bytes, weight.readers, role, weight.tensor, weight.is_main
    )


def _of_input(value: ValueInfoProto, readers: Sequence[str]) -> StoredWeight:
    type_ = value.type.tensor_type
    sizes = [dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None for dim in type_.shape.dim]
    known = [size for size in sizes if isinstance(size, int)]
    count = bytes_of(known, type_.elem_type) if len(known) == len(sizes) else 0
    return StoredWeight(value.name, _word(type_.elem_type), sizes, count, readers, REQUIRED)


def bytes_of(dims: Sequence[int], number: int) -> int:
    """Return the bytes of a tensor; elements of fewer than eight bits are packed, strings count as 0."""
    dtype = dtypes.by_number(number)
    if dtype is None or dtype.name == "string":
        return 0
    head = dtype.name.partition("_")[0]
    bits = int(head.lstrip("bsufc")) if head != "boolean" else 8
    return math.ceil(math.prod(dims) * bits / 8)


def _word(number: int) -> str:
    dtype = dtypes.by_number(number)
    return dtype.name if dtype is not None else str(number)


@dataclass(frozen=True)
class _Graph:
    """A graph of a model; `path` is '' for the main one."""

    graph: GraphProto
    path: str

    def weights(self) -> Iterator[tuple[str, StoredWeight]]:
        """Yield the weights of the graph and its subgraphs, each with the path of its graph."""
        readers = self.readers()
        for tensor in self.graph.initializer:
            yield self.path, _weight(tensor.name, tensor, readers, is_main=not self.path)
        for sparse in self.graph.sparse_initializer:
            name, number = sparse.values.name, sparse.values.data_type
            count = bytes_of(sparse.values.dims, number)
            yield (
                self.path,
                StoredWeight(
                    name, f"sparse({_word(number)})", list(sparse.dims), count, readers[name], CONSTANT
                ),
            )
        for node in self.graph.node:
            if node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
                for attribute in node.attribute:
                    if attribute.type == AttributeProto.TENSOR:
                        yield self.path, _weight(node.output[0], attribute.t, readers)
        for inner in self._inner():
            yield from inner.weights()

    def readers(self) -> Mapping[str, list[str]]:
        """Return the readers of each value of the graph, including nodes of subgraphs."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for node in self.graph.node:
            for name in dict.fromkeys(filter(None, node.input)):
                found[name].append(_label(node))
        for inner in self._inner():
            own = inner.own_names()
            for name, labels in inner.readers().items():
                if name not in own:
                    found[name] += labels
        for value in self.graph.output:
            if value.name in found or any(value.name == tensor.name for tensor in self.graph.initializer):
                found[value.name].append("(output)")
        return found

    def own_names(self) -> set[str]:
        """Return the names of the graph's values."""
        graph = self.graph
        outputs = (name for node in graph.node for name in node.output)
        given = (value.name for value in (*graph.input, *graph.initializer))
        sparse = (tensor.values.name for tensor in graph.sparse_initializer)
        return {*outputs, *given, *sparse}

    def _inner(self) -> Iterator[_Graph]:
        for node in self.graph.node:
            for attribute in node.attribute:
                for graph in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                    own = f"{node.name or node.output[0] if node.output else node.op_type}.{attribute.name}"
                    yield _Graph(graph, f"{self.path}/{own}" if self.path else own)


def _label(node: NodeProto) -> str:
    name = node.name or next(filter(None, node.output), "")
    return f"{name} ({node.op_type})" if name else node.op_type


def _weight(
    name: str, tensor: TensorProto, readers: Mapping[str, Sequence[str]], *, is_main: bool = False
) -> StoredWeight:
    dims, number = list(tensor.dims), tensor.data_type
    count = bytes_of(dims, number) or sum(map(len, tensor.string_data))
    return StoredWeight(name, _word(number), dims, count, readers.get(name, ()), CONSTANT, tensor, is_main)
