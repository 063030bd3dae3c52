"""What Jupyter shows of graphs, compiled graphs, reports and mistakes."""

from __future__ import annotations

import re
from collections import Counter
from html import escape
from pathlib import Path

import pytest
from support.reports import HOSTILE, chain, hostile

import gradc
from gradc.drawing import layout, notebook
from gradc.reporting import page
from gradc.util.extras import install

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"
DECODER = EXAMPLES / "decoder_backward.json"


def cells(html: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", html.partition("<iframe")[0])
    return [re.findall(r"<td>(.*?)</td>", row) for row in rows]


def absent(name: str):
    raise ImportError(name)


@pytest.fixture
def bare(monkeypatch) -> None:
    """As if the extra `report` were not installed."""
    page._environment.cache_clear()
    monkeypatch.setattr(page, "import_module", absent)
    monkeypatch.setattr(layout, "import_module", absent)


class TestCompiled:
    def test_its_edge_and_its_strategies(self):
        compiled = gradc.compile(DECODER)
        html, kinds = compiled._repr_html_(), Counter(node.op_type for node in compiled.model.graph.node)
        assert f"<strong>{kinds.total()} ONNX nodes</strong> for cpu, opset 18: " in html
        assert all(f"{count} {kind}" in html for kind, count in kinds.items())
        assert ["in", "t0", "f32", "[1, 19, 128, 128]"] in cells(html)
        assert ["out", "t10", "f32", "[1, 256, 32, 32]"] in cells(html)
        assert ["up2", "conv-to-conv", "1 Conv"] in cells(html)

    def test_remarks(self):
        compiled = gradc.compile(EXAMPLES / "conv_backward.mlir", auto_pad_rule="documented")
        assert compiled.remarks
        for remark in compiled.remarks:
            assert str(remark).replace('"', "&quot;") in compiled._repr_html_()

    def test_a_small_graph_is_drawn(self):
        pytest.importorskip("pygraphviz")
        assert "&lt;svg" in gradc.compile(DECODER)._repr_html_()

    def test_a_large_one_is_not(self, monkeypatch):
        monkeypatch.setattr(notebook, "MAX_DRAWN_NODES", 14)
        assert "<iframe" not in gradc.compile(DECODER)._repr_html_()

    @pytest.mark.usefixtures("bare")
    def test_without_the_extra(self):
        html = gradc.compile(DECODER)._repr_html_()
        assert "<iframe" not in html
        assert ["up2", "conv-to-conv", "1 Conv"] in cells(html)

    def test_names_are_no_markup(self):
        assert HOSTILE[:8] not in gradc.compile(hostile())._repr_html_()


class TestGraph:
    def test_what_is_built_so_far(self):
        g = gradc.Graph()
        assert cells(g._repr_html_()) == []
        g.input("x", "f32", ["N", 3, None])
        assert ["in", "x", "f32", "[N, 3, ?]"] in cells(g._repr_html_())
        assert ["ConvolutionBackwardData", "op0_1", "f32 [1, 2, 6, 6]"] in cells(chain(2)._repr_html_())

    def test_names_are_no_markup(self):
        assert HOSTILE[:8] not in hostile()._repr_html_()


class TestReport:
    def test_a_frame(self):
        pytest.importorskip("jinja2")
        html = gradc.report(chain(1), run=False)._repr_html_()
        assert html.startswith('<iframe srcdoc="&lt;!doctype html&gt;')
        assert 'sandbox="allow-scripts"' in html
        assert html.count("<") == 2

    @pytest.mark.usefixtures("bare")
    def test_without_the_extra(self):
        html = gradc.report(chain(1), run=False)._repr_html_()
        assert html == f"<p>error: a page needs jinja2; {escape(install('report'))}</p>"


class TestIPython:
    """A real shell, as a notebook's kernel is one."""

    @pytest.fixture
    def shell(self):
        pytest.importorskip("IPython")
        from IPython.core.interactiveshell import InteractiveShell  # pyright: ignore[reportMissingImports]

        yield InteractiveShell.instance(colors="nocolor")
        InteractiveShell.clear_instance()

    def test_a_mistake_is_its_line_without_a_traceback(self, shell, capsys, tmp_path):
        path = tmp_path / "wrong.mlir"
        path.write_text((EXAMPLES / "conv_backward.mlir").read_text().replace("same_upper", "same_uper"))
        result = shell.run_cell(f"import gradc\ngradc.compile({str(path)!r})")
        assert isinstance(result.error_in_exec, gradc.GradcError)
        shown = capsys.readouterr().out
        assert f"{path}:6:5: error: [ConvolutionBackwardData" in shown
        assert '    6 |     auto_pad = "same_uper", auto_pad_rule' in shown
        assert "      |     ^~~~~~~~" in shown
        assert "did you mean same_upper" in shown
        assert "Traceback" not in shown
        assert "gradc/compiler/driver.py" not in shown

    def test_other_errors_keep_theirs(self, shell, capsys):
        shell.run_cell("1 / 0")
        assert "ZeroDivisionError" in capsys.readouterr().out

    def test_what_is_displayed(self, shell):
        compiled = gradc.compile(DECODER)
        data, _ = shell.display_formatter.format(compiled)
        assert data["text/html"] == compiled._repr_html_()
