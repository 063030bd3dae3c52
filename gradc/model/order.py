"""Topological order of a graph's nodes."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

from onnx import GraphProto, NodeProto

from dialects.support.diagnostics import Diagnostic, GradcError, several


def topological_order(nodes: Sequence[NodeProto]) -> list[tuple[int, NodeProto]]:
    """Return (index in the model, node) in topological order; the model's order if it is topological.

    Raises GradcError for a cycle.
    """
    makers: dict[str, int] = {}
    for index, node in enumerate(nodes):
        makers.update((name, index) for name in node.output if name and name not in makers)
    needs = [{makers[n] for n in names_read(node) if n in makers} for node in nodes]
    if all(max(each, default=-1) < index for index, each in enumerate(needs)):
        return list(enumerate(nodes))
    readers: dict[int, list[int]] = {}
    for index, each in enumerate(needs):
        for maker in each:
            readers.setdefault(maker, []).append(index)
    waiting = [len(each) for each in needs]
    ready = [index for index, count in enumerate(waiting) if not count]
    found = []
    while ready:
        index = heapq.heappop(ready)
        found.append((index, nodes[index]))
        for reader in readers.get(index, ()):
            waiting[reader] -= 1
            if not waiting[reader]:
                heapq.heappush(ready, reader)
    if len(found) < len(nodes):
        raise _cycle(nodes, needs, {index for index, count in enumerate(waiting) if count})
    return found


def names_read(node: NodeProto) -> Iterator[str]:
    """Yield the names that a node reads, including outer values that its subgraphs read."""
    waiting: list[tuple[NodeProto | GraphProto, frozenset[str]]] = [(node, frozenset())]
    while waiting:
        part, inner = waiting.pop()
        if isinstance(part, GraphProto):
            inner |= _defined_names(part)
            waiting += ((each, inner) for each in part.node)
            yield from (value.name for value in part.output if value.name not in inner)
            continue
        yield from (name for name in part.input if name not in inner)
        for attribute in part.attribute:
            graphs = [*([attribute.g] if attribute.HasField("g") else ()), *attribute.graphs]
            waiting += ((graph, inner) for graph in graphs)


def _defined_names(graph: GraphProto) -> frozenset[str]:
    """Return the names that a graph defines."""
    tensors = (t.name for t in graph.initializer), (t.values.name for t in graph.sparse_initializer)
    made = (name for node in graph.node for name in node.output)
    return frozenset((*(value.name for value in graph.input), *tensors[0], *tensors[1], *made))


def _cycle(nodes: Sequence[NodeProto], needs: Sequence[set[int]], stuck: set[int]) -> GradcError:
    """Return the error that names a cycle among the nodes left, found by walking back along their inputs."""
    path = [min(stuck)]
    while path.count(path[-1]) == 1:
        path.append(min(needs[path[-1]] & stuck))
    cycle = path[path.index(path[-1]) :][::-1]
    names = [f"{title(nodes[index])} (node {index})" for index in cycle[1:]]
    return GradcError(Diagnostic("error", f"nodes form a cycle: {several(names)}"))


def title(node: NodeProto) -> str:
    name = node.name or next(iter(node.output), "")
    return f'{node.op_type} "{name}"' if name else node.op_type
