"""SVG picture of a graph; colors come from the page, positions from Graphviz."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from gradc.drawing.layout import Layout, Line, Point, check_size, layout
from gradc.drawing.nodes import MAX_LINE, Node, cut, nodes
from gradc.drawing.references import edges_of, with_references

PADDING = 10
TITLE = 24
"""Height of a box with only a title, in points as all sizes here."""

LINE = 15
TRUNK = 18
"""Length of the line below a box, next to its result type."""

TITLE_ADVANCE = 8.6
"""Width of a title character: 13 points, semibold, in the widest of the usual fonts."""

TEXT_ADVANCE = 6.65
"""Width of a character of a fixed-width font of 11 points."""

BORDER = ("input", "output", "reference")
"""Families of nodes that are not ops; they are rounded and centered."""

NARROWEST = 72
HUES = 8
"""Number of distinct colors of source ops, used in turn."""


def picture(module: ModuleOp, name: str, culprits: Collection[Operation] = ()) -> str:
    """Return an `<svg>` of the graph in a module's entry function.

    Each op is a `<g class="node KIND FAMILY" id="NAME-NUMBER" data-source="...">`: NUMBER is its index in the
    function's body, `data-source` the value of `nodes.source_of`. Inputs and outputs are NAME-input-INDEX and
    NAME-output-INDEX. A reference with the node's id in `data-of` replaces a line that would be too long. Ops
    that prevent compilation have the class `culprit`. Colors and fonts come from classes (viewer.css).

    Raises UsageError without pygraphviz, UnsupportedError for a graph that is too large.
    """
    shown = nodes(module, name, culprits)
    check_size(len(shown))
    shown = with_references(shown)
    sizes = [_size(node) for node in shown]
    return tostring(_svg(shown, sizes, layout(sizes, edges_of(shown))), encoding="unicode")


def _svg(shown: Sequence[Node], sizes: Sequence[Point], places: Layout) -> Element:
    width, height = f"{places.width:g}", f"{places.height:g}"
    ops = sum(node.family not in BORDER for node in shown)
    svg = Element("svg", {
        "xmlns": "http://www.w3.org/2000/svg", "class": "graph", "width": width, "height": height,
        "viewBox": f"0 0 {width} {height}", "role": "group", "aria-label": f"graph of {ops} ops",
    })  # fmt: skip
    edges = SubElement(svg, "g", {"class": "edges"})
    for line in places.lines:
        _edge(edges, shown, line)
    hues = _hues(shown)
    group = SubElement(svg, "g", {"class": "nodes"})
    for node, size, corner in zip(shown, sizes, places.corners, strict=True):
        _node(group, node, size, corner, hues.get(node.source))
    return svg


def _hues(shown: Sequence[Node]) -> dict[str, int]:
    sources = dict.fromkeys(node.source for node in shown if node.source)
    return {source: index % HUES for index, source in enumerate(sources)}


def _edge(parent: Element, shown: Sequence[Node], line: Line) -> None:
    source, target = shown[line.source], shown[line.target]
    group = SubElement(parent, "g", {"class": "edge", "data-from": source.id, "data-to": target.id})
    type_ = source.result or source.lines[0]
    SubElement(group, "title").text = f"{source.title} to {target.title}: {type_}"
    SubElement(group, "path", {"class": "line", "d": line.path})
    SubElement(group, "polygon", {"class": "head", "points": line.head})


def _node(parent: Element, node: Node, size: Point, corner: Point, hue: int | None) -> None:
    x, y = corner
    width, height = size[0], size[1] - _trunk(node)
    classes = " ".join(dict.fromkeys(("node", node.kind, node.family, *["culprit"] * node.culprit)))
    attributes = {"class": classes, "id": node.id, "data-title": node.title}
    more = {"data-source": node.source, "data-strategy": node.strategy, "data-of": node.of}
    attributes |= {name: value for name, value in more.items() if value}
    group = SubElement(parent, "g", attributes)
    SubElement(group, "title").text = node.tooltip
    box = {"x": f"{x:g}", "y": f"{y:g}", "width": f"{width:g}", "height": f"{height:g}"}
    rounding = 14 if node.family in BORDER else 5
    SubElement(group, "rect", {"class": "box", **box, "rx": f"{rounding}"})
    if hue is not None and node.family not in BORDER:
        stripe = box | {"x": f"{x + 3:g}", "y": f"{y + 4:g}", "width": "3", "height": f"{height - 8:g}"}
        SubElement(group, "rect", {"class": f"stripe hue-{hue}", **stripe, "rx": "1.5"})
    _texts(group, node, x, y, width)
    if node.result:
        _result(group, node, x + width / 2, y + height)


def _texts(group: Element, node: Node, x: float, y: float, width: float) -> None:
    left = f"{x + (width / 2 if node.family in BORDER else PADDING + 3):g}"
    _text(group, "title", left, y + 16.5, node.title)
    for index, line in enumerate(_lines(node)):
        kind = "line" if index < len(node.lines) else "origin"
        _text(group, kind, left, y + TITLE + 8 + index * LINE, line)


def _result(group: Element, node: Node, x: float, y: float) -> None:
    """Draw the common start of all outgoing edges, and the result type next to it."""
    SubElement(group, "path", {"class": "trunk", "d": f"M{x:g},{y:g}V{y + TRUNK:g}"})
    _text(group, "type", f"{x + 5:g}", y + 12.5, node.result)


def _text(parent: Element, kind: str, x: str, y: float, text: str) -> None:
    SubElement(parent, "text", {"class": kind, "x": x, "y": f"{y:g}"}).text = text


def _lines(node: Node) -> list[str]:
    if node.family in BORDER:
        return list(node.lines)
    origin = " · ".join(part for part in (node.source, node.strategy) if part)
    return [*node.lines, *([cut(origin, MAX_LINE)] if origin else [])]


def _trunk(node: Node) -> float:
    return TRUNK if node.result else 0


def _size(node: Node) -> Point:
    """Return the size of the box with the line below; the type is right of the center."""
    lines = _lines(node)
    widest = max([cells(node.title) * TITLE_ADVANCE, *(cells(line) * TEXT_ADVANCE for line in lines)])
    result = 2 * (cells(node.result) * TEXT_ADVANCE + 5)
    height = TITLE + len(lines) * LINE + (3 if lines else 0)
    return max(NARROWEST, widest + 2 * PADDING + 6, result), height + _trunk(node)


def cells(text: str) -> int:
    """Return the width of a text in fixed-width characters; wide characters count twice."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
