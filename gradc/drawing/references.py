"""References in a picture, which replace lines that would cross all of it by a label of the far node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gradc.drawing.layout import MOST_CROSSINGS, Edge, spans
from gradc.drawing.nodes import MAX_TITLE, Node, cut

FAR = (40, 20, 10, 5, 2)
"""Maximum ranks that a line may cross: the first value that keeps dot's work within limits is used."""


NEAR = 5
"""Maximum ranks for the other lines of a node that has a too long one."""


def edges_of(shown: Sequence[Node]) -> list[Edge]:
    return [(source, target) for target, node in enumerate(shown) for source in node.inputs]


def with_references(shown: Sequence[Node]) -> list[Node]:
    """Return the nodes followed by a reference for each cut line, which replaces its input."""
    found = list(shown)
    for far in FAR:
        _cut(found, _long(found, far))
        if sum(spans(len(found), edges_of(found))) <= MOST_CROSSINGS:
            break
    return found


def _long(found: Sequence[Node], far: int) -> list[Edge]:
    edges = edges_of(found)
    lengths = spans(len(found), edges)
    sources = {edge[0] for edge, length in zip(edges, lengths, strict=True) if length > far}
    most = min(NEAR, far)
    return [e for e, length in zip(edges, lengths, strict=True) if e[0] in sources and length > most]


def _cut(found: list[Node], edges: Sequence[Edge]) -> None:
    for source, target in edges:
        reader = found[target]
        inputs = tuple(len(found) if index == source else index for index in reader.inputs)
        found[target] = replace(reader, inputs=inputs)
        found.append(_reference(found[source], reader))


def _reference(node: Node, reader: Node) -> Node:
    return Node(
        id=f"{node.id}-for-{reader.id}",
        kind="reference",
        family="reference",
        title=cut(f"↑ {node.title}", MAX_TITLE),
        lines=(node.result or node.lines[0],),
        source=node.source,
        strategy="",
        result="",
        inputs=(),
        tooltip=f"{node.tooltip.splitlines()[0]}, which is far from here",
        of=node.id,
    )
