"""The picture of a graph: what is in it, that it is harmless, and when there is none."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from support.decoder import DECODER, decoder
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from dialects import context
from dialects.support import entry
from dialects.support.diagnostics import Position, UnsupportedError, UsageError, location, name_of
from gradc.builder.graph import Graph
from gradc.compiler.driver import compile_module, load
from gradc.compiler.options import Options
from gradc.drawing import layout
from gradc.drawing.nodes import MAX_LINE, Node, cut, nodes, source_of
from gradc.drawing.picture import picture
from gradc.drawing.references import edges_of, with_references

ROOT = Path(__file__).resolve().parents[4]
EXAMPLES = [ROOT / "examples" / name for name in ("decoder_backward.json", "resize_dynamic.mlir")]
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</title></svg><script>alert(1)</script>\"'&\x1b[31m\u202e" + "x" * 10_000
"""A name that wants to be markup, to be obeyed by a terminal, to be read backwards, and to be long."""

DRAW = """
import sys
from gradc.compiler.driver import load
from gradc.drawing.picture import picture
from gradc.drawing.references import edges_of, with_references
sys.stdout.buffer.write(picture(load(sys.argv[1]), "g").encode())
"""


def compiled(path: Path) -> tuple[ModuleOp, ModuleOp]:
    found = compile_module(decoder() if path == DECODER else load(path), Options())
    return found.source, found.module


def drawn(module: ModuleOp) -> ElementTree.Element:
    pytest.importorskip("pygraphviz")
    return ElementTree.fromstring(picture(module, "g"))


def groups(svg: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [group for group in svg.iter(f"{SVG}g") if name in group.get("class", "").split()]


def rectangle(group: ElementTree.Element) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of a node's box."""
    (box,) = (rect for rect in group.iter(f"{SVG}rect") if rect.get("class") == "box")
    x, y, width, height = (float(box.attrib[name]) for name in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


def ops_of(module: ModuleOp) -> list:
    return list(entry.entry_function(module).body.block.ops)[:-1]


def convolution(weights: np.ndarray | None = None, name: str = "dx") -> ModuleOp:
    graph = Graph()
    dy = graph.input("dy", "f32", (1, 4, 8, 8))
    w = graph.input("w", "f32", (4, 2, 3, 3)) if weights is None else graph.constant(weights)
    dx = graph.convolution_backward_data(
        dy, w, (1, 2, 8, 8), strides=(1, 1), pads_begin=(1, 1), pads_end=(1, 1), dilations=(1, 1),
        data_format="NCX", weights_format="OIX",
    )  # fmt: skip
    graph.output(dx, "dx")
    module = graph.module()
    for op in ops_of(module):
        op.location = location(name)
    return module


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_op_is_there_once_under_its_number(path: Path):
    for module in compiled(path):
        ops = ops_of(module)
        wanted = {f"g-{i}" for i, op in enumerate(ops) if op.name != "onnx.Constant"}
        wanted |= {f"g-input-{i}" for i in range(len(entry.entry_function(module).args))} | {"g-output-0"}
        found = groups(drawn(module), "node")
        assert len(found) == len(wanted)
        assert {group.get("id") for group in found} == wanted
        for group in found:
            number = group.attrib["id"].rpartition("-")[2]
            if group.attrib["id"] == f"g-{number}":
                assert ops[int(number)].name.replace(".", "-") in group.attrib["class"].split()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_lines_are_the_uses(path: Path):
    for module in compiled(path):
        ids = {arg: f"g-input-{i}" for i, arg in enumerate(entry.entry_function(module).args)}
        ids |= {result: f"g-{i}" for i, op in enumerate(ops_of(module)) for result in op.results}
        wanted = {
            (ids[value], f"g-{number}")
            for number, op in enumerate(ops_of(module))
            for value in op.operands
            if value.owner not in ops_of(module) or value.owner.name != "onnx.Constant"
        }
        (returned,) = entry.return_op(entry.entry_function(module)).arguments
        wanted.add((ids[returned], "g-output-0"))
        found = [(g.attrib["data-from"], g.attrib["data-to"]) for g in groups(drawn(module), "edge")]
        assert len(found) == len(wanted)
        assert set(found) == wanted


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_boxes_are_apart_and_lines_end_at_them(path: Path):
    svg = drawn(compiled(path)[1])
    boxes = {group.attrib["id"]: rectangle(group) for group in groups(svg, "node")}
    for (one, a), (other, b) in combinations(boxes.items(), 2):
        assert a[2] < b[0] or b[2] < a[0] or a[3] < b[1] or b[3] < a[1], (one, other)
    width, height = float(svg.attrib["width"]), float(svg.attrib["height"])
    assert all(0 <= b[0] < b[2] <= width and 0 <= b[1] < b[3] <= height for b in boxes.values())
    for edge in groups(svg, "edge"):
        source, target = boxes[edge.attrib["data-from"]], boxes[edge.attrib["data-to"]]
        line, head = edge[1], edge[2]
        x, y = (float(number) for number in line.attrib["d"][1:].partition("C")[0].split(","))
        assert x == pytest.approx((source[0] + source[2]) / 2, abs=1)
        assert source[3] - 1 <= y <= source[3] + 20
        tip = max(float(pair.split(",")[1]) for pair in head.attrib["points"].split())
        assert target[1] - 3 <= tip <= target[1]


def test_both_pictures_tell_the_same_sources():
    names = {"head", "up2", "conv2", "conv1", "up1"}
    for module in compiled(DECODER):
        assert {g.get("data-source") for g in groups(drawn(module), "node")} - {None} == names


def test_an_op_without_a_name_has_its_place():
    module = convolution(name="")
    (op,) = ops_of(module)
    assert source_of(op) == ""
    (node,) = (node for node in nodes(module, "g") if node.family == "source")
    assert node.source == ""
    assert "data-source" not in groups(drawn(module), "source")[0].attrib
    op.location = location(position=Position("a/graph.json", 3, 7))
    assert source_of(op) == "a/graph.json:3:7"


def test_an_input_that_nothing_reads_says_so():
    """The image of a resize, of which only the shape matters."""
    before, after = compiled(DECODER)
    assert [node.title for node in nodes(after, "g") if "not read" in node.lines] == ["t9"]
    assert not any("not read" in node.lines for node in nodes(before, "g"))
    (group,) = groups(drawn(after), "unread")
    assert group.attrib["id"] == "g-input-5"
    assert "input" in group.attrib["class"].split()
    assert group[0].text == "input t9\ntype: 1×256×32×32 f32\nnot read: its values change nothing"


def test_families_are_classes():
    after = compiled(DECODER)[1]
    families = {node.title: node.family for node in nodes(after, "g")}
    assert families["Conv"] == families["MatMul"] == "arithmetic"
    assert families["Transpose"] == families["Reshape"] == families["Gather"] == "layout"
    assert families["t0"] == "input"
    assert families["t10"] == "output"
    sizes = {node.title: node.family for node in nodes(compiled(EXAMPLES[1])[1], "g")}
    assert sizes["Shape"] == sizes["Range"] == "size"
    assert sizes["Cast"] == "cast"
    gradients: list[Node] = []
    compile_module(load(DECODER), Options(), observer=lambda s: gradients.extend(nodes(s.module, "g")))
    assert {node.family for node in gradients if node.kind.startswith("grad-")} == {"gradient"}


def test_the_strategy_is_told():
    after = compiled(DECODER)[1]
    found = {(node.title, node.strategy) for node in nodes(after, "g") if node.strategy}
    assert ("Conv", "conv-to-conv") in found
    texts = [text.text for group in groups(drawn(after), "onnx-Conv") for text in group.iter(f"{SVG}text")]
    assert "conv2 · conv-to-conv" in texts


def test_a_box_says_what_matters():
    before, after = compiled(DECODER)
    (up2,) = (node for node in nodes(before, "g") if node.source == "up2")
    assert up2.title == "ConvTransposeBackwardData"
    assert up2.lines == ("kernel 4×4 · IOX · strides 2×2", "pads_begin 1,1 · pads_end 1,1 · NCX")
    assert up2.result == "1×64×64×64 f32"
    assert "auto_pad_rule = library" in up2.tooltip.splitlines()
    (gather,) = (n for n in nodes(after, "g") if n.title == "Gather" and n.source == "conv2")
    assert gather.lines == ("axis 1", "indices = 8,7,6,5,4,3,2,1,0")
    products = [node for node in nodes(after, "g") if node.title == "MatMul"]
    assert [node.lines for node in products] == [("A = constant 32×64 f32",), ("B = constant 64×32 f32",)]


def test_weights_that_are_known_are_told_by_their_shape():
    module = convolution(np.full((4, 2, 3, 3), 1.25, np.float32))
    (node,) = (node for node in nodes(module, "g") if node.family == "source")
    assert "weights = constant 4×2×3×3 f32" in node.lines
    assert "1.25" not in picture_text(module)


def test_a_constant_that_is_returned_is_a_node():
    text = (
        "func.func @main() -> tensor<2xf32> {\n"
        "  %c = onnx.Constant dense<[1.0, 2.0]> : tensor<2xf32>\n"
        "  func.return %c : tensor<2xf32>\n}"
    )
    module = Parser(context(), text).parse_module()
    assert [(node.id, node.family) for node in nodes(module, "g")] == [
        ("g-0", "constant"),
        ("g-output-0", "output"),
    ]


def picture_text(module: ModuleOp) -> str:
    pytest.importorskip("pygraphviz")
    return picture(module, "g")


def test_hostile_names_are_text():
    module = convolution(name=HOSTILE)
    entry.set_names(entry.entry_function(module), [HOSTILE, HOSTILE + "2"], [HOSTILE + "3"])
    assert name_of(ops_of(module)[0]) == HOSTILE
    text = picture_text(module)
    assert "<script" not in text
    assert len(text) < 20_000
    assert all(line.isprintable() for line in text.split("\n"))
    svg = ElementTree.fromstring(text)
    lines = [element.text or "" for element in svg.iter(f"{SVG}text")]
    assert max(map(len, lines)) <= MAX_LINE
    assert any(line.startswith("</title>") for line in lines)


def test_colours_and_fonts_are_the_page_s():
    text = picture_text(compiled(DECODER)[1])
    for word in ("fill=", "stroke=", "style=", "font", "#"):
        assert word not in text


def test_the_same_bytes_every_time():
    pytest.importorskip("pygraphviz")
    runs = [
        subprocess.run(
            [sys.executable, "-c", DRAW, str(DECODER)],
            capture_output=True,
            check=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        for seed in ("1", "2")
    ]
    assert runs[0].stdout == runs[1].stdout
    assert runs[0].stdout.startswith(b"<svg")
    assert [run.stderr for run in runs] == [b"", b""]


def test_a_thousand_nodes_are_drawn_and_nothing_is_said(capfd: pytest.CaptureFixture[str]):
    """pygraphviz warns of more than a thousand."""
    pytest.importorskip("pygraphviz")
    places = layout.layout([(100.0, 40.0)] * 1_200, [(i, i + 1) for i in range(1_199)])
    assert [corner[1] for corner in places.corners] == sorted(corner[1] for corner in places.corners)
    assert capfd.readouterr() == ("", "")


def test_what_is_too_large_is_refused():
    with pytest.raises(UnsupportedError, match="given 2,001 nodes, expected at most 2,000"):
        layout.check_size(layout.MOST_NODES + 1)
    chain = [(i, i + 1) for i in range(199)]
    jumps = [(i, j) for i in range(0, 200, 3) for j in range(i + 2, 200, 3)]
    with pytest.raises(UnsupportedError, match=r"too large to draw: given lines across [\d,]+ ranks"):
        layout.layout([(100.0, 40.0)] * 200, chain + jumps)


def chain(length: int, also: int) -> list[Node]:
    """Nodes that each read the one before; the last one reads another one too."""
    empty = Node("", "k", "f", "", ("t",), "s", "", "", (), "node\nmore")
    found = [replace(empty, id=f"n{i}", title=f"T{i}", inputs=(i - 1,) if i else ()) for i in range(length)]
    return [*found[:-1], replace(found[-1], inputs=(*found[-1].inputs, also))]


def test_a_reference_stands_for_a_node_that_is_far():
    near = chain(50, also=49 - 41)
    assert with_references(near) == near
    far = chain(50, also=49 - 42)
    (reference,) = with_references(far)[50:]
    assert with_references(far)[49].inputs == (48, 50)
    assert with_references(far)[:49] == far[:49]
    assert (reference.id, reference.of, reference.title) == ("n7-for-n49", "n7", "↑ T7")
    assert (reference.source, reference.lines) == ("s", ("t",))


def test_what_everybody_reads_is_no_reason_to_refuse():
    """One input of two hundred ops in a row: a line to each would cross the whole picture."""
    first = chain(202, also=0)
    everybody = [first[0], *(replace(node, inputs=(0, *node.inputs)) for node in first[1:-1]), first[-1]]
    assert layout.crossings(202, edges_of(everybody)) > layout.MOST_CROSSINGS
    found = with_references(everybody)
    assert layout.crossings(len(found), edges_of(found)) < 50
    for node, before in zip(found, everybody, strict=False):
        read = {found[index].of or found[index].id for index in node.inputs}
        assert read == {everybody[index].id for index in before.inputs}


def test_rows_that_lines_pass():
    chain = [(0, 1), (1, 2), (2, 3)]
    assert layout.crossings(4, chain) == 0
    assert layout.crossings(4, [*chain, (0, 3)]) == 2
    assert layout.crossings(5, [*chain, (4, 3)]) == 0


def test_without_graphviz_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    with pytest.raises(UsageError, match=r'pip install "jinja2>=.*" "pillow>=.*" "pygraphviz>=.*"'):
        picture(load(DECODER), "g")
    with pytest.raises(UsageError, match="pygraphviz"):
        layout.check_available()


def test_cut():
    assert cut("abc", 3) == "abc"
    assert cut("abcd", 3) == "ab…"
