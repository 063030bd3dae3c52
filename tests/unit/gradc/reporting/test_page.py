"""The page of a report: whole in one file, valid, and nothing that a name in it could say is markup."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from support.cli import run_gradc
from support.documents import CONV, attrs, changed, text_of
from support.reports import chain, hostile
from support.tuning import Bench

import gradc
from gradc.drawing import layout
from gradc.reporting import page
from gradc.reporting.bars import MAX_BAR, gradients
from gradc.runtime import session as runtime
from gradc.terminal.numbers import number, size, time, with_prefix
from gradc.tuning import request
from gradc.tuning.stores import FOLDER_VARIABLE
from gradc.util.extras import install
from passes.autodiff import vjp

for package in ("jinja2", "PIL", "pygraphviz"):
    pytest.importorskip(package)

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"
SOURCES = sorted([*EXAMPLES.glob("*.json"), *EXAMPLES.glob("*.mlir")])
pytestmark = pytest.mark.xdist_group("report page")
VOID = {"meta", "link", "img", "br", "hr", "input"}
ASKING = {"src", "href", "action", "data", "poster", "srcset", "xlink:href"}
"""Attributes that make a browser ask for something."""


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "cache"))


class Reader(HTMLParser):
    """Reads a page; a tag that is not closed where it should be fails."""

    def __init__(self):
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open, tag
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "script" not in self.open and "style" not in self.open:
            self.text.append(data)

    def found(self, tag: str) -> Iterator[dict[str, str | None]]:
        return (attributes for name, attributes in self.tags if name == tag)


@cache
def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader


def message(html: str) -> str:
    return " ".join("".join(read(html).text).split())


@cache
def html_of(path: Path) -> str:
    return gradc.report(path).html()


@pytest.fixture(params=SOURCES, ids=lambda path: path.name)
def html(request) -> str:
    return html_of(request.param)


@pytest.mark.sweep(parts=4)
class TestOneFile:
    def test_nothing_is_asked_for(self, html):
        reader = read(html)
        for tag, attributes in reader.tags:
            for name in ASKING & attributes.keys():
                value = attributes[name] or ""
                assert value.startswith(("#", "data:image/png;base64,")), (tag, name, value)
        assert set(re.findall(r"https?://[^\"' )<]*", html)) <= {"http://www.w3.org/2000/svg"}
        assert "@import" not in html
        assert not re.search(r"url\((?!data:)", html)

    def test_only_its_own_script_may_run(self, html):
        (policy,) = (m["content"] for m in read(html).found("meta") if "http-equiv" in m)
        assert policy is not None
        assert policy.startswith("default-src 'none'")
        assert "script-src 'sha256-" in policy
        assert sum(1 for _ in read(html).found("script")) == 1
        assert not [name for _, found in read(html).tags for name in found if name.startswith("on")]

    def test_it_is_valid(self, html):
        html5lib = pytest.importorskip("html5lib")
        html5lib.HTMLParser(strict=True).parse(html)

    def test_ids_are_unique_and_links_lead_somewhere(self, html):
        ids = [found["id"] for _, found in read(html).tags if "id" in found]
        assert len(ids) == len(set(ids))
        for link in read(html).found("a"):
            assert (link["href"] or "").removeprefix("#") in ids
        for _, found in read(html).tags:
            assert found.get("aria-labelledby", ids[0]) in ids

    def test_a_reader_who_hears_it_finds_the_way(self, html):
        reader = read(html)
        assert next(reader.found("html"))["lang"] == "en"
        for landmark in ("header", "nav", "main", "footer"):
            assert any(True for _ in reader.found(landmark)), landmark
        assert all(found.get("scope") for found in reader.found("th"))
        assert all(found.get("alt") for found in reader.found("img"))
        assert sum(1 for _ in reader.found("h1")) == 1

    def test_it_is_the_same_twice(self):
        report = gradc.report(SOURCES[0], run=False)
        assert report.html() == report.html()


class TestContent:
    def test_numbers_of_the_summary(self):
        text = message(html_of(EXAMPLES / "decoder_backward.json"))
        for part in (
            "source ops5of 3 kinds",
            "target cpu · opset 18",
            "1 × 19 × 128 × 128",
            "ConvTransposeBackwardData",
        ):
            assert part in text

    def test_remarks_with_their_lines(self):
        report = gradc.report(str(EXAMPLES / "conv_backward.mlir"), run=False, auto_pad_rule="documented")
        text = message(report.html())
        assert "the documented rule gives pads (1, 0), the library rule would give (0, 1)" in text
        assert "%diff_src = onednn.convolution_backward_data" in text

    def test_every_strategy_or_why_not(self):
        report = gradc.report(EXAMPLES / "conv_backward.mlir", run=False)
        text = message(report.html())
        assert "that do not apply" in text
        for row in report.explanation.gradients[0].strategies:
            assert row.name in text
            assert not row.refusal or row.refusal in text

    def test_both_graphs_name_the_source_op(self):
        html = gradc.report(EXAMPLES / "conv_backward.mlir", run=False).html()
        nodes = [found for found in read(html).found("g") if "node" in (found.get("class") or "").split()]
        before = [n for n in nodes if (n["id"] or "").startswith("before-") and n.get("data-source")]
        after = [n for n in nodes if (n["id"] or "").startswith("after-") and n.get("data-source")]
        assert {n["data-source"] for n in before} == {"diff_src"}
        assert {n["data-source"] for n in after} == {"diff_src"}
        assert len(after) > len(before) == 1
        buttons = [found.get("data-op") for found in read(html).found("button")]
        assert "diff_src" in buttons

    def test_ops_without_a_name_are_found_by_their_place(self):
        html = gradc.report(chain(1, named=False), run=False).html()
        (button,) = (found["data-op"] for found in read(html).found("button") if "data-op" in found)
        sources = {found["data-source"] for found in read(html).found("g") if "data-source" in found}
        assert sources == {button}
        assert "reports.py:" in (button or "")
        assert "unnamed" not in message(html)
        assert re.search(r"(?<![/\\])reports\.py:\d+", message(html)), "and headed by it, without its folders"

    def test_nothing_finite_is_no_error_of_zero(self):
        graph = chain(1)
        inputs = {i.name: np.full(i.shape, np.inf, np.float32) for i in gradc.compile(graph).inputs}
        text = message(gradc.report(graph, inputs=inputs).html())
        assert "verifiednothing" in text
        assert "ok, but nothing is finite" in text

    def test_images(self):
        shown = [found["alt"] or "" for found in read(gradc.report(chain(1)).html()).found("img")]
        assert len(shown) == 3
        assert "input dy0" in shown[0]
        assert "output dx0" in shown[1]
        assert "error of dx0" in shown[2]

    def test_measured_and_predicted_times(self, monkeypatch):
        monkeypatch.setattr(request, "_measure", Bench(lambda name: 0.001))
        monkeypatch.setattr("gradc.inspection.explain.measure_peak", lambda target: 1e11)
        text = message(gradc.report(chain(1), tune=True).html())
        assert "measured on this machine" in text
        assert "1 ms measured" in text
        assert "of the peak" in text

    def test_a_bar_that_is_too_long_is_cut(self, monkeypatch):
        monkeypatch.setattr(
            request, "_measure", Bench(lambda name: 1.0 if name == "conv-to-matmul" else 1e-6)
        )
        found = gradc.report(chain(1), tune=True, run=False)
        rows = gradients(found.explanation)["gradients"][0]["rows"]
        bars = {row["name"]: row["bars"][-1] for row in rows}
        assert bars["conv-to-matmul"]["cut"]
        assert bars["conv-to-matmul"]["percent"] == "100.0"
        assert float(bars["conv-to-conv"]["percent"]) == pytest.approx(100 / MAX_BAR, abs=0.1)

    def test_a_cut_bar_says_so(self, monkeypatch):
        monkeypatch.setattr(
            request, "_measure", Bench(lambda name: 1.0 if name == "conv-to-matmul" else 0.01)
        )
        html = gradc.report(chain(1), tune=True, run=False).html()
        titles = [
            found.get("title") for found in read(html).found("div") if "cut" in (found.get("class") or "")
        ]
        assert titles == ["longer than there is room for"]
        assert "a bar that fades is longer than there is room for" in message(html)

    def test_measured_bars_can_be_compared_whatever_was_predicted(self, monkeypatch):
        """Predictions are of microseconds here."""
        monkeypatch.setattr(request, "_measure", Bench(lambda name: 4.0 if name == "conv-to-matmul" else 1.0))
        found = gradc.report(chain(1), tune=True, run=False)
        rows = gradients(found.explanation)["gradients"][0]["rows"]
        bars = {row["name"]: row["bars"][-1] for row in rows}
        assert {bar["kind"] for bar in bars.values()} == {"measured"}
        assert (bars["conv-to-matmul"]["percent"], bars["conv-to-conv"]["percent"]) == ("100.0", "25.0")
        assert not any(bar["cut"] for bar in bars.values())

    def test_the_time_of_a_run_says_what_it_is_of(self, monkeypatch):
        assert "the gradients alone, predicted" in message(gradc.report(chain(3), run=False).html())
        monkeypatch.setattr(request, "_measure", Bench(lambda name: 0.001))
        text = message(gradc.report(chain(3), tune=True, run=False).html())
        assert "a run3msthe gradients alone, measured" in text
        cached = message(gradc.report(chain(3), run=False).html())
        assert "a run3msthe gradients alone, measured" in cached

    def test_the_verdict_stands_beside_its_output_and_ulps_are_folded(self):
        html = gradc.report(chain(1)).html()
        accuracy = html[html.index('<section id="accuracy"') : html.index('<section id="images"')]
        heads = re.findall(r'<th scope="col"[^>]*>([^<]*)</th>', accuracy)
        assert heads[:2] == ["output", "verdict"]
        row = re.search(r"<tr><th scope=\"row\"><code>dx0</code></th><td>(.*?)</td>", accuracy)
        assert row is not None
        assert ">ok<" in row[1]
        before, _, folded = accuracy.partition("<summary>Errors in units in the last place</summary>")
        assert before.rstrip().endswith('<details class="plain ulps">')
        assert "grow where terms cancel" in folded
        assert "units of the terms" not in before


class TestMissing:
    def test_the_page_says_why(self, monkeypatch):
        if "CUDAExecutionProvider" in runtime.available_providers():
            pytest.skip("there is a GPU")
        text = message(gradc.report(EXAMPLES / "conv_backward.mlir", target="cuda").html())
        assert "Not here: " in text
        assert "CUDA" in text
        assert "How each gradient can be written" in text

    def test_a_graph_that_is_too_large_to_draw(self, monkeypatch):
        monkeypatch.setattr(layout, "MOST_NODES", 3)
        text = message(gradc.report(chain(2), run=False).html())
        assert "too large to draw: given 6 nodes, expected at most 3" in text
        assert "How each gradient can be written" in text

    def test_what_is_no_image(self):
        g = gradc.Graph()
        src, dy = g.input("src", "f32", [1, 1, 2, 2]), g.input("dy", "f32", [1, 1, 2, 2])
        g.output(g.interpolate_backward(src, dy, mode="bilinear", sizes=[2, 2], data_format="NCX"), "dx")
        text = message(gradc.report(g).html())
        assert "dx: too small for an image" in text

    def test_a_graph_that_does_not_compile(self, tmp_path):
        path = tmp_path / "wrong.json"
        path.write_text(text_of(changed(CONV, attrs(strides=[0, 2]))))
        html = gradc.report(path).html()
        assert "This graph does not compile." in message(html)
        assert "strides" in message(html)
        sections = [found["id"] for found in read(html).found("section")]
        assert sections == ["summary", "graph", "repeat"]
        pytest.importorskip("pygraphviz")
        (culprit,) = (
            found for found in read(html).found("g") if "culprit" in (found.get("class") or "").split()
        )
        assert culprit["data-title"] == "ConvolutionBackwardData"

    def test_without_the_packages_of_a_page(self, monkeypatch, tmp_path):
        def absent(name: str):
            raise ImportError(name)

        page._environment.cache_clear()
        monkeypatch.setattr(page, "import_module", absent)
        result = run_gradc("report", EXAMPLES / "conv_backward.mlir", "-o", tmp_path / "r.html")
        assert result.code == 3
        assert result.line == f"error: a page needs jinja2; {install('report')}"
        assert not (tmp_path / "r.html").exists()


class TestHostileNames:
    def test_no_name_is_markup(self):
        html = gradc.report(hostile()).html()
        assert "<script>alert" not in html
        assert sum(1 for _ in read(html).found("script")) == 1
        assert '<script>alert("1")</script>' in message(html)

    def test_nothing_turns_the_text_around(self):
        html = gradc.report(hostile()).html()
        assert "\u202e" not in html
        assert "\x1b" not in html
        assert "\\u202e" in html

    def test_a_file_name(self, tmp_path):
        path = tmp_path / "<img src=x onerror=alert(1)>.mlir"
        path.write_text((EXAMPLES / "conv_backward.mlir").read_text())
        html = gradc.report(path, run=False).html()
        assert not any(found.get("src") == "x" for found in read(html).found("img"))

    def test_a_line_of_the_source(self, tmp_path):
        path = tmp_path / "g.mlir"
        text = (EXAMPLES / "conv_backward.mlir").read_text()
        path.write_text(text.replace("%weights {\n", "%weights { //</pre><script>1\n"))
        html = gradc.report(path, run=False, auto_pad_rule="documented").html()
        assert "<script>1" not in html
        assert "//</pre><script>1" in message(html)


class TestCommand:
    def test_a_page(self, tmp_path):
        out = tmp_path / "r.html"
        result = run_gradc("report", EXAMPLES / "conv_backward.mlir", "-o", out)
        assert result.code == 0
        assert result.out == ""
        assert (
            out.read_text(encoding="utf-8") == gradc.report(EXAMPLES / "conv_backward.mlir").html()
            or out.stat()
        )
        read(out.read_text(encoding="utf-8"))

    def test_a_page_on_stdout(self):
        result = run_gradc("report", "-", "-o", "-", "--no-run", stdin=text_of(CONV).encode())
        assert result.code == 0
        assert "stdin" in message(result.out)

    def test_a_graph_that_does_not_compile(self, tmp_path):
        out = tmp_path / "r.html"
        path = EXAMPLES / "conv_backward.mlir"
        result = run_gradc("report", path, "-o", out, "--strategy", "conv-to-conv")
        wanted = run_gradc("compile", path, "-o", tmp_path / "m.onnx", "--strategy", "conv-to-conv")
        assert (result.code, result.line) == (wanted.code, wanted.line)
        assert "stride 2 on axis H" in message(out.read_text(encoding="utf-8"))

    def test_wrong_numbers(self, tmp_path, monkeypatch):
        run = runtime.Session.run
        monkeypatch.setattr(
            runtime.Session, "run", lambda *a: {k: v + np.float32(1) for k, v in run(*a).items()}
        )
        out = tmp_path / "r.html"
        assert run_gradc("report", EXAMPLES / "conv_backward.mlir", "-o", out).code == 1
        assert "failed" in message(out.read_text(encoding="utf-8"))

    @pytest.mark.parametrize(
        "words",
        [[], ["-o", "-", "--json"], ["-o", "x.html", "--rtol", "-1"], ["-o", "x.html", "--seed", "-1"]],
    )
    def test_usage(self, words, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert run_gradc("report", EXAMPLES / "conv_backward.mlir", *words).code == 2
        assert list(tmp_path.iterdir()) == []

    def test_a_file_that_is_not_there(self, tmp_path):
        result = run_gradc("report", tmp_path / "absent.json", "-o", tmp_path / "r.html")
        assert result.code == 4
        assert "cannot read" in result.line
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.5, "1.5"),
        (1e-7, "1 × 10⁻⁷"),
        (2.5e12, "2.5 × 10¹²"),
        (np.inf, "∞"),
        (-np.inf, "-∞"),
        (np.nan, "nan"),
    ],
)
def test_numbers(value, text):
    assert number(value) == text


def test_units():
    assert [time(s) for s in (2.0, 0.0123, 4.56e-5)] == ["2 s", "12.3 ms", "45.6 µs"]
    assert [size(n) for n in (12, 1_900, 2_000_000)] == [("12", "bytes"), ("1.9", "kB"), ("2", "MB")]
    assert [with_prefix(n) for n in (12, 1_900, 2.5e12)] == ["12 ", "1.9 k", "2.5 T"]


KINKED = """<ir_version: 10, opset_import: ["": 18]> g (float[3] x) => (float[3] y)
<float[3] k = {0, 0, 0}> { a = Mul (k, x) y = Relu (a) }"""


class TestCheckOfAGradient:
    def test_the_outcome_and_each_undecided_op(self):
        text = message(gradc.report(onnx.parser.parse_model(KINKED), wrt="k", of="y").html())
        assert "partly proved" in text
        assert "Check of the gradient" in text
        assert re.search(r"Relu y ?3 elements at its kink", text)

    def test_a_wrong_gradient(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(vjp, "RULES", {**vjp.RULES, "Relu": lambda f, g, e: [g[0] * 2]})
        source = onnx.parser.parse_model(KINKED.replace("0, 0, 0", "1, 2, 3"))
        text = message(gradc.report(source, wrt="x").html())
        assert "this op is to blame" in text
        assert "proved" not in text

    def test_a_graph_that_is_no_gradient(self):
        text = message(gradc.report(onnx.parser.parse_model(KINKED)).html())
        assert "Check of the gradient" not in text
