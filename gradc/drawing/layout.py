"""Positions of boxes and lines by Graphviz's dot.

Boxes have fixed sizes and no text, so the layout does not depend on fonts, only on the Graphviz version.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any
from xml.etree import ElementTree

from dialects.support.diagnostics import Diagnostic, UnsupportedError, UsageError
from gradc.util.extras import install

MOST_NODES = 2_000
MOST_CROSSINGS = 6_000
"""Maximum total number of ranks that lines cross. dot adds a node for each, and its time grows faster than
their number: about ten seconds at this limit."""

EFFORTS: tuple[tuple[int, dict[str, str]], ...] = (
    (300, {}),
    (2_500, {"nslimit": "1", "nslimit1": "1", "mclimit": "0.2"}),
    (MOST_NODES + MOST_CROSSINGS, {"nslimit": "0.05", "nslimit1": "0.5", "mclimit": "0.05"}),
)
"""dot's effort limits by the maximum number of nodes and crossings."""

POINTS = 72.0
"""Points per inch; dot takes inches."""

STRAIGHT = "6"
"""Weight of an edge between ops (1 for one from an input): dot draws heavy edges straighter."""

SVG = "{http://www.w3.org/2000/svg}"

Point = tuple[float, float]
Edge = tuple[int, int]


@dataclass(frozen=True)
class Line:
    """A drawn edge between two boxes: its path and arrow head in SVG syntax."""

    source: int
    target: int
    path: str
    head: str


@dataclass(frozen=True)
class Layout:
    """A layout in points, y downwards. `corners` are the upper left corners of the boxes."""

    width: float
    height: float
    corners: tuple[Point, ...]
    lines: tuple[Line, ...]


def layout(sizes: Sequence[Point], edges: Sequence[Edge]) -> Layout:
    """Place boxes of the given widths and heights, joined by acyclic edges.

    Raises UsageError without Graphviz, UnsupportedError for a graph that would take minutes.
    """
    check_size(len(sizes), crossings(len(sizes), edges))
    graph = _graph(sizes, edges)
    with contextlib.redirect_stderr(io.StringIO()):  # pygraphviz warns about more than 1000 nodes
        drawn = graph.draw(format="svg", prog="dot")
    return _read(ElementTree.fromstring(drawn), sizes, edges)


def check_size(nodes: int, passed: int = 0) -> None:
    """Raise UnsupportedError for too many nodes or crossed ranks."""
    if nodes > MOST_NODES:
        raise _too_large(f"{nodes:,} nodes", f"at most {MOST_NODES:,}")
    if passed > MOST_CROSSINGS:
        raise _too_large(f"lines across {passed:,} ranks of nodes", f"at most {MOST_CROSSINGS:,}")


def _too_large(given: str, expected: str) -> UnsupportedError:
    return UnsupportedError(Diagnostic("error", f"too large to draw: given {given}, expected {expected}"))


def crossings(nodes: int, edges: Sequence[Edge]) -> int:
    """Return the total number of ranks that the lines cross."""
    return sum(spans(nodes, edges))


def spans(nodes: int, edges: Sequence[Edge]) -> list[int]:
    """Return the ranks that each line crosses, with each node as low as its readers permit."""
    reads: list[list[int]] = [[] for _ in range(nodes)]
    readers = [0] * nodes
    for source, target in edges:
        reads[target].append(source)
        readers[source] += 1
    rows = [0] * nodes  # from the bottom
    ready = [node for node in range(nodes) if not readers[node]]
    while ready:
        target = ready.pop()
        for source in reads[target]:
            rows[source] = max(rows[source], rows[target] + 1)
            readers[source] -= 1
            if not readers[source]:
                ready.append(source)
    return [rows[source] - rows[target] - 1 for source, target in edges]


def check_available() -> None:
    _graphviz()


def _graphviz() -> Any:
    try:
        return import_module("pygraphviz")
    except ImportError:
        text = f"a picture of a graph needs pygraphviz; {install('report')}"
        raise UsageError(Diagnostic("error", text)) from None


def _graph(sizes: Sequence[Point], edges: Sequence[Edge]) -> Any:
    graph = _graphviz().AGraph(directed=True, strict=False, **_effort(len(sizes), edges))
    graph.graph_attr.update(nodesep="0.25", ranksep="0.3", pad="0.1")
    graph.node_attr.update(shape="box", fixedsize="true", label="")
    graph.edge_attr.update(tailport="s", headport="n", arrowsize="0.6")
    for index, (width, height) in enumerate(sizes):
        size = {"width": f"{width / POINTS:.6f}", "height": f"{height / POINTS:.6f}"}
        graph.add_node(f"n{index}", id=f"n{index}", **size)
    made = {target for _, target in edges}
    for index, (source, target) in enumerate(edges):
        weight = STRAIGHT if source in made else "1"
        graph.add_edge(f"n{source}", f"n{target}", key=f"e{index}", id=f"e{index}", weight=weight)
    return graph


def _effort(nodes: int, edges: Sequence[Edge]) -> dict[str, str]:
    work = nodes + crossings(nodes, edges)
    return next(effort for most, effort in EFFORTS if work <= most)


def _read(svg: ElementTree.Element, sizes: Sequence[Point], edges: Sequence[Edge]) -> Layout:
    """Read dot's SVG, with the origin moved to the upper left corner."""
    left, top, width, height = map(float, svg.attrib["viewBox"].split())
    graph = svg.find(f"{SVG}g")
    assert graph is not None
    dx, dy = _translation(graph.attrib["transform"])
    found = {group.get("id"): group for group in graph.iter(f"{SVG}g")}
    corners = [_corner(found[f"n{index}"], size, dx - left, dy - top) for index, size in enumerate(sizes)]
    lines = [_line(found[f"e{index}"], edge, dx - left, dy - top) for index, edge in enumerate(edges)]
    return Layout(width, height, tuple(corners), tuple(lines))


def _translation(transform: str) -> Point:
    """Return the translation of `scale(1 1) rotate(0) translate(4 129.25)`."""
    x, y = transform.rpartition("translate(")[2].rstrip(")").replace(",", " ").split()
    return float(x), float(y)


def _corner(group: ElementTree.Element, size: Point, dx: float, dy: float) -> Point:
    """Return the corner of a box, computed from its center because dot rounds sizes."""
    polygon = group.find(f"{SVG}polygon")
    assert polygon is not None
    corners = _points(polygon.attrib["points"])
    xs, ys = [x for x, _ in corners], [y for _, y in corners]
    middle = (min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2
    return round(middle[0] + dx - size[0] / 2, 2), round(middle[1] + dy - size[1] / 2, 2)


def _line(group: ElementTree.Element, edge: Edge, dx: float, dy: float) -> Line:
    path, head = group.find(f"{SVG}path"), group.find(f"{SVG}polygon")
    assert path is not None
    assert head is not None
    start, _, curve = path.attrib["d"].removeprefix("M").partition("C")
    moved = _shift(_points(start), dx, dy), _shift(_points(curve), dx, dy)
    return Line(*edge, f"M{moved[0]}C{moved[1]}", _shift(_points(head.attrib["points"]), dx, dy))


def _points(text: str) -> list[Point]:
    pairs = [pair.split(",") for pair in text.split()]
    return [(float(x), float(y)) for x, y in pairs]


def _shift(points: Sequence[Point], dx: float, dy: float) -> str:
    return " ".join(f"{x + dx:.1f},{y + dy:.1f}" for x, y in points)
