"""All findings of a kind at once: ops that are not compiled, wrong attributes, sizes, names and arrays."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.cli import run_gradc
from support.documents import CONV, INTERPOLATE, Doc, attrs, changed, op, tensor, text_of, two_convolutions

import gradc
from dialects.support.diagnostics import Position, kind_of
from dialects.support.error_list import MAX_ERRORS, OpReference, summarize_by_kind
from gradc.importers.mlir.parser import import_mlir
from gradc.importers.onednn import op_kinds
from gradc.importers.onednn.reader import import_document, import_json
from gradc.inspection.inspection import inspect
from gradc.reporting.data import as_json

MIXED = """func.func @main(%x: tensor<1x2x3x3xf32>, %dy: tensor<1x2x6x6xf32>) -> tensor<1x2x3x3xf32> {
  %up = onednn.interpolate_backward %x, %dy {mode = "linear", sizes = [6, 6], data_format = "NCX"}
    : (tensor<1x2x3x3xf32>, tensor<1x2x6x6xf32>) -> tensor<1x2x3x3xf32>
  %sum = onnx.Add %up, %x : (tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %a = onnx.Hardmost %sum {axis = 1} : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %b = "onnx.Hardmost"(%a) {axis = 2 : i64} : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %c = onnx.Quintile %b {kernel_shape = [1, 1]} : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  func.return %c : tensor<1x2x3x3xf32>
}
"""
"""Two ops that gradc has, and three that nobody has."""


WITHOUT = re.sub(r"(?s)  %a.*%c = .*?\n  func.return %c", "  func.return %sum", MIXED)


def mixed(unsupported: str = "Wildcard", another: str = "Histogram") -> Doc:
    """A gradient, then three ops of two kinds, the first of which is read by the others."""
    shape = [1, 2, 3, 3]
    kinds = ((unsupported, 2, 10), (another, 10, 11), (unsupported, 11, 12))
    others = [
        op(number, kind, {}, [tensor(read, shape), tensor(0, shape)], [tensor(made, shape)], f"op{number}")
        for number, (kind, read, made) in enumerate(kinds, 1)
    ]
    return {**INTERPOLATE, "graph": [*INTERPOLATE["graph"], *others]}


@pytest.fixture(autouse=True)
def a_newer_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has one kind more than gradc: of today's, gradc compiles all but one."""
    monkeypatch.setattr(op_kinds, "PUBLIC_KINDS", (*op_kinds.PUBLIC_KINDS, "Histogram"))


@pytest.fixture
def document(tmp_path) -> Path:
    path = tmp_path / "mixed.json"
    path.write_text(json.dumps(mixed(), indent=1), encoding="utf-8")
    return path


@pytest.fixture
def text(tmp_path) -> Path:
    path = tmp_path / "mixed.mlir"
    path.write_text(MIXED, encoding="utf-8")
    return path


class TestByKind:
    def test_the_most_frequent_first(self):
        found = [
            OpReference("ReLU", "", Position("f", 1, 2), "4"),
            *(OpReference("Add", "", Position("f", line, 3)) for line in (5, 6)),
            OpReference("Abs", "", None),
        ]
        assert summarize_by_kind(found, 60) == "4 of 60 ops: 2 Add (5:3 and 6:3), 1 ReLU (id 4 at 1:2), 1 Abs"

    def test_many_are_counted(self):
        found = [OpReference("Add", "", None, str(n)) for n in range(1, 1001)]
        assert summarize_by_kind(found, 2000).endswith(
            "(id 1, id 2, id 3, id 4, id 5, id 6, id 7, id 8 and 992 more)"
        )


class TestDocument:
    def test_compile_names_all(self, document, tmp_path):
        result = run_gradc("compile", document, "-o", tmp_path / "o.onnx")
        lines = document.read_text("utf-8").splitlines()
        add, relu, again = (
            f"id {number} at {1 + at}:{lines[at].index(':') + 3}"
            for number, at in enumerate(
                (i for i, line in enumerate(lines) if '"kind"' in line and "Inter" not in line), 1
            )
        )
        assert result.code == 3
        assert (
            f"3 of 4 ops: 2 Wildcard ({add} and {again}), 1 Histogram ({relu}); docs/mixed_graphs.md"
            in result.line
        )
        assert result.line.startswith(f"{document}:{add.split()[-1]}: error: ")

    def test_words_that_are_no_kinds_are_told_each(self):
        with pytest.raises(gradc.GradcError) as caught:
            import_document(mixed("Ad", "SofTMaxBackward"))
        first, second = str(caught.value).splitlines()
        assert "given Ad, " in first
        assert "given SofTMaxBackward, expected SoftMaxBackward" in second
        assert caught.value.exit_code == 4

    def test_inspect_shows_all(self, document):
        result = run_gradc("inspect", document)
        assert result.code == 0
        assert re.findall(r"^(\w+) \"(\w+)\" .*\(not compiled\)$", result.out, re.MULTILINE) == [
            ("Wildcard", "op1"),
            ("Histogram", "op2"),
            ("Wildcard", "op3"),
        ]
        assert "supported: no, " in result.out
        assert "3 of 4 ops: 2 Wildcard" in result.out
        found = inspect(mixed())
        assert [(o.kind, o.understood) for o in found.ops][:2] == [
            ("InterpolateBackward", True),
            ("Wildcard", False),
        ]
        assert [(t.name, t.dtype, t.shape) for t in found.outputs] == [("t12", "f32", [1, 2, 3, 3])]

    @pytest.mark.parametrize("open_", [{"shape": [-(2**63)]}, {"dtype": "undef"}])
    def test_what_records_leave_open(self, open_):
        """A gradient that reads such a tensor is not understood either; what is refused are the others."""
        given = mixed()
        given["graph"] = [
            *given["graph"][1:],
            op(
                9,
                "InterpolateBackward",
                {"mode": "linear", "sizes": [6, 6]},
                [tensor(12, [1, 2, 3, 3]), tensor(1, [1, 2, 6, 6])],
                [tensor(20, [1, 2, 3, 3])],
                "last",
            ),
        ]
        for node in given["graph"]:
            for record in (*node["inputs"], *node["outputs"]):
                if record["id"] in (10, 11, 12):
                    record |= open_
        found = inspect(given)
        assert [o.understood for o in found.ops] == [False] * 4
        assert "3 of 4 ops" in found.refusal

    def test_the_report_draws_them_in_red(self, document, tmp_path):
        pytest.importorskip("pygraphviz")
        page = tmp_path / "r.html"
        assert run_gradc("report", document, "-o", page).code == 3
        assert page.read_text("utf-8").count(' culprit"') == 3
        assert "3 of 4 ops: 2 Wildcard" in page.read_text("utf-8")

    def test_hostile_kinds_are_drawn_as_well(self):
        pytest.importorskip("pygraphviz")
        html = gradc.report(mixed("\x1b[31m", "<script>")).html()
        assert "\x1b" not in html
        assert "<script>&" not in html

    def test_every_wrong_attribute_of_every_op(self, tmp_path):
        wrong = attrs(strides=[0, 2], dilations="x", groups=0)
        document = two_convolutions()
        for node in document["graph"]:
            node["attrs"] |= changed(CONV, wrong)["graph"][0]["attrs"]
        path = tmp_path / "wrong.json"
        path.write_text(text_of(document), encoding="utf-8")
        result = run_gradc("compile", path, "-o", tmp_path / "o.onnx")
        assert result.code == 4
        reported = [line for line in result.lines if ": error: " in line]
        assert len(reported) == 2
        assert all("dilations" in line for line in reported)

    def test_every_wrong_op_is_drawn(self):
        pytest.importorskip("pygraphviz")
        document = two_convolutions()
        for node in document["graph"]:
            node["attrs"]["strides"]["value"] = [0, 2]
        found = gradc.report(document)
        assert len(found.failures) == 2
        assert found.html().count(' culprit"') == 2
        assert len(json.loads(as_json(found))["failures"]) == 2

    def test_records_that_contradict_each_other(self):
        document = two_convolutions()
        for node in document["graph"]:
            for record in node["inputs"]:
                record["dtype"] = "bf16" if node["id"] else record["dtype"]
        document["graph"] += [{**node, "id": node["id"]} for node in document["graph"]]
        with pytest.raises(gradc.GradcError) as caught:
            import_document(document)
        assert len(str(caught.value).splitlines()) == 2

    def test_no_more_than_can_be_read(self):
        document = {**CONV, "graph": [{**CONV["graph"][0], "id": n, "inputs": 1} for n in range(1000)]}
        with pytest.raises(gradc.GradcError) as caught:
            import_json(text_of(document), "g.json")
        assert len(caught.value.diagnostics) == MAX_ERRORS + 1
        assert str(caught.value).endswith("980 more errors are not shown")


class TestText:
    def test_compile_names_all(self, text, tmp_path):
        result = run_gradc("compile", text, "-o", tmp_path / "o.onnx")
        assert result.code == 4
        first, second = (line for line in result.err.splitlines() if "error: " in line)
        assert ":5:3: error: [onnx.Hardmost] unknown op" in first
        assert ":7:3: error: [onnx.Quintile] unknown op" in second

    def test_inspect_shows_onnx_ops(self, text):
        with pytest.raises(gradc.GradcError) as caught:
            inspect(text)
        assert caught.value.graph is not None
        kinds = [kind_of(op) for op in caught.value.graph.walk() if op.parent_op() is not None]
        assert kinds[1:-1] == [
            "InterpolateBackward",
            *("onnx.Add", "onnx.Hardmost", "onnx.Hardmost", "onnx.Quintile"),
        ]
        good = MIXED.replace("onnx.Hardmost", "onnx.Identity").replace("onnx.Quintile", "onnx.Identity")
        text.write_text(re.sub(r" \{(axis|kernel)[^}]*\}", "", good), encoding="utf-8")
        assert "onnx.Identity" in run_gradc("inspect", text).out
        assert inspect(text).refusal == ""

    def test_the_report_draws_them_in_red(self, text):
        pytest.importorskip("pygraphviz")
        assert gradc.report(text).html().count(' culprit"') == 3

    def test_names_that_are_no_ops_are_told_each(self):
        with pytest.raises(gradc.GradcError) as caught:
            import_mlir(MIXED.replace("onnx.Quintile", "tosa.pool"), "g.mlir")
        first, second = str(caught.value).splitlines()
        assert first.startswith("g.mlir:5:3: error: [onnx.Hardmost] unknown op")
        assert second.startswith("g.mlir:7:3: error: [tosa.pool] unknown op")
        assert caught.value.exit_code == 4

    def test_what_cannot_be_read_is_told_as_far_as_it_was(self):
        with pytest.raises(gradc.GradcError, match=r"\[onnx.Hardmost\] unknown op"):
            import_mlir(MIXED.replace("{axis = 1} :", "{axis = 1} ("), "g.mlir")

    def test_every_wrong_attribute(self):
        wrong = WITHOUT.replace('"linear"', '"lin"').replace("data_format", "data_fromat")
        with pytest.raises(gradc.GradcError) as caught:
            import_mlir(wrong, "g.mlir")
        found = re.findall(
            r"^g.mlir:2:\d+: .*(mode: given|unknown attribute)", str(caught.value), re.MULTILINE
        )
        assert found == ["unknown attribute", "mode: given"]

    def test_every_name_that_nothing_defines(self):
        with pytest.raises(gradc.GradcError, match=r"not defined: \[%p, %q\]"):
            import_mlir(WITHOUT.replace("%up, %x", "%p, %q"), "g.mlir")


class TestArrays:
    def graph(self) -> gradc.Graph:
        g = gradc.Graph()
        dy, w = g.input("dy", "f32", ["N", 4, 3, 3]), g.input("w", "f32", [4, 2, 3, 3])
        window: dict[str, Any] = {
            "strides": [1, 1],
            "pads_begin": [0, 0],
            "pads_end": [0, 0],
            "dilations": [1, 1],
        }
        window |= {"data_format": "NCX", "weights_format": "OIX"}
        g.output(g.convolution_backward_data(dy, w, [None, 2, 5, 5], **window), "dx")
        return g

    def lines(self, function, *args, **kwargs) -> list[str]:
        with pytest.raises(gradc.GradcError) as caught:
            function(*args, **kwargs)
        return str(caught.value).splitlines()

    def test_constants(self):
        given = {"ww": np.ones(1), "v": np.ones(1), "w": np.ones((1, 2), np.float32)}
        assert len(self.lines(gradc.compile, self.graph(), constants=given)) == 3

    def test_inputs(self):
        compiled = gradc.compile(self.graph())
        misfit = {"dy": np.ones((1, 5, 3, 3), np.float32), "w": np.ones((4, 2, 3, 3))}
        assert len(self.lines(compiled.run, misfit)) == 2
        assert len(self.lines(compiled.run, {"a": 1, "b": 2})) == 2

    def test_shapes(self, tmp_path):
        path = tmp_path / "g.mlir"
        self.graph().save(path)
        result = run_gradc("verify", path, "--shape", "a=1", "--shape", "b=1")
        assert result.code == 4
        assert len(result.lines) == 2

    def test_contradictions_under_strict(self):
        document = two_convolutions()
        for node in document["graph"]:
            node["attrs"]["output_padding"] = {"type": "s64[]", "value": [1, 1]}
        lines = self.lines(gradc.compile, document, strict=True)
        found = [name for line in lines for name in re.findall(r'"(conv|second)" id', line)]
        assert found == ["conv", "conv", "second", "second"]  # each on two axes

    def test_gradients_that_a_strategy_cannot_write(self):
        lines = self.lines(gradc.compile, two_convolutions(), strategy="conv-to-conv")
        assert [name for line in lines for name in re.findall(r'"(conv|second)"', line)] == ["conv", "second"]


class TestGraph:
    def test_an_op_that_it_does_not_have(self):
        with pytest.raises(
            AttributeError,
            match=r"no op histogram: expected one of convolution_backward_data, .*mixed_graphs",
        ):
            _ = gradc.Graph().histogram  # pyright: ignore[reportAttributeAccessIssue]
        with pytest.raises(AttributeError, match="did you mean interpolate_backward"):
            _ = gradc.Graph().interpolat_backward  # pyright: ignore[reportAttributeAccessIssue]
        assert not hasattr(gradc.Graph(), "_repr_png_")
