"""What code writes into pages is current, and what is stale is found and mended."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from dialects import source_ops
from dialects.support.diagnostics import violation
from gradc.bench.plot import fingerprint
from gradc.problems import OPS
from passes.strategies import by_name
from tools import support_table
from tools.documents import __main__ as documents
from tools.documents import op_page, plots, prose, speed, strategies
from tools.documents.pages import pages
from tools.documents.speed import Race
from tools.generated import Part
from tools.support_table import CLASS_KINDS

ROOT = Path(__file__).resolve().parents[2]


class TestPages:
    def test_parts_are_current(self, capsys):
        """All but the table for which every op is compiled for every target and dtype."""
        quick = [page for page in pages() if page != "docs/support.md"]
        assert documents.main(["--check", *quick]) == 0, capsys.readouterr().out

    @pytest.mark.heavy
    def test_the_support_table_is_current(self, capsys):
        assert documents.main(["--check", "docs/support.md"]) == 0, capsys.readouterr().out

    def test_a_page_without_generated_parts_is_named(self, capsys):
        assert documents.main(["--check", "docs/adding.md"]) == 2
        assert capsys.readouterr().out.startswith("no generated parts: docs/adding.md;")

    def test_stale_ones_are_found_and_mended(self, tmp_path, monkeypatch, capsys):
        monkeypatch.setattr(documents, "pages", lambda: {"a.md": {"one": lambda: "1", "two": lambda: "2"}})
        path = tmp_path / "a.md"
        stale = "x\n<!-- two: begin -->\n<!-- two: end -->\ny\n<!-- one: begin -->\n0\n<!-- one: end -->\n"
        path.write_text(stale, encoding="utf-8")
        assert documents.main(["--check"], tmp_path) == 1
        assert "a.md" in capsys.readouterr().out
        assert path.read_text(encoding="utf-8") == stale
        assert documents.main([], tmp_path) == 0
        assert documents.main(["--check"], tmp_path) == 0
        assert path.read_text(encoding="utf-8").splitlines() == [
            "x",
            "<!-- two: begin -->",
            "2",
            "<!-- two: end -->",
            "y",
            "<!-- one: begin -->",
            "1",
            "<!-- one: end -->",
        ]

    def test_a_page_without_the_markers(self):
        with pytest.raises(ValueError, match="no <!-- one: begin -->"):
            Part("one").write("text <!-- one: end -->", "1")


class TestSupportTable:
    def test_a_cell_is_what_compiling_says(self, monkeypatch):
        monkeypatch.setattr(support_table, "compiles", lambda *args: args[3] is False)
        assert support_table._cell("InterpolateBackward", "f32", 2, "cpu") == "static"
        monkeypatch.setattr(support_table, "compiles", lambda *args: False)
        assert support_table._cell("InterpolateBackward", "f32", 2, "cpu") == "no"


def measurable() -> list[str]:
    """The source ops of whose canonical gradients `gradc/problems` knows one: the others cannot be timed."""
    return [kind for kind in CLASS_KINDS if any(op in OPS for op in op_page.canonical_ops(kind))]


class TestOps:
    @pytest.mark.parametrize("kind", CLASS_KINDS)
    def test_every_op_has_a_page_in_the_list(self, kind):
        path = ROOT / f"docs/ops/{kind}.md"
        assert path.is_file(), f"missing: docs/ops/{kind}.md; docs/extending/op.md has its frame"
        text = path.read_text(encoding="utf-8")
        assert text.startswith(f"# {kind}\n")
        assert f"{kind}.md" in (ROOT / "docs/ops/index.md").read_text(encoding="utf-8")
        assert set(pages()[f"docs/ops/{kind}.md"]) == {"op", "attributes", "canonical form", "strategies"}

    @pytest.mark.parametrize("kind", CLASS_KINDS)
    def test_the_docstring_is_taken_apart_whole(self, kind):
        """No word of it is lost, and every constraint is a row."""
        op = source_ops()[kind]
        text = prose.op_text(op)
        names = re.findall(r"\bC\d(?= )", op.__doc__ or "")
        assert text.formula or kind == "UpsampleBilinear2dBackward"
        assert list(text.constraints) == names
        words = re.findall(r"\w+", " ".join((text.summary, text.formula, text.remainder, *text.paragraphs)))
        words += re.findall(r"\w+", " ".join((*text.constraints, *text.constraints.values())))
        assert sorted(map(str.lower, words)) == sorted(
            w.lower() for w in re.findall(r"\w+", op.__doc__ or "")
        )

    def test_an_op_that_was_not_measured(self, monkeypatch):
        monkeypatch.setattr(speed, "races", lambda report: {})
        text = op_page.strategies("InterpolateBackward")
        assert "| resize-to-matmul |" in text
        assert text.endswith("Not measured: `docs/speed/ops.txt` has no problem of it.")

    def test_an_op_of_known_sizes_only(self, monkeypatch):
        """A graph that is refused, here one of unknown sizes, has no canonical ops."""
        kind = "ConvolutionBackwardData"
        probe = support_table.PROBES[kind]

        def static_only(graph, dtype, rank, dynamic):
            if dynamic:
                monkeypatch.setattr(op_page, "to_gradients", refuse)
            return probe(graph, dtype, rank, dynamic)

        def refuse(module, options):
            raise violation("sizes must be known")

        monkeypatch.setitem(support_table.PROBES, kind, static_only)
        assert {op.name: when for op, when in op_page.canonical_ops(kind).items()} == {
            "grad.conv_backward_data": [False]
        }

    def test_the_canonical_ops(self):
        found = op_page.canonical_ops("ConvolutionBackwardData")
        assert {op.name: when for op, when in found.items()} == {
            "grad.conv_backward_data": [False, True],
            "grad.take_window": [True],
        }

    @pytest.mark.parametrize("kind", measurable())
    def test_every_op_was_measured(self, kind):
        races = speed.races(speed.report(speed.STRATEGIES)).get(kind, ())
        assert races, f"missing: problems of {kind} in docs/speed/ops.txt, measured: {speed.COMMAND}"
        assert {race.layout for race in races} == {"NCX", "NXC"}
        assert len(races) >= 12
        assert all(race.chosen in race.seconds for race in races)


class TestStrategies:
    def test_all_are_there(self):
        text = strategies.page()
        assert re.findall(r"^## (.*)$", text, re.MULTILINE) == list(by_name())

    def test_reasons_that_differ_in_numbers_are_one(self):
        reasons = strategies.refusals()["conv-to-conv"].values()
        strided = [(reason, problem) for reason, problem in reasons if "only stride 1" in reason]
        assert len(strided) == 1
        assert "strides=2x2" in strided[0][1]


class TestSpeed:
    RACES = (
        Race("p", "one", "NCX", "a", {"a": 2e-3, "b": 1e-3}, {"a": 1.0, "b": 0.5}),
        Race("q", "two", "NCX", "b", {"b": 1e-3}, {"b": 1.0}),
    )

    def test_standing(self):
        assert speed.standing("a", self.RACES) == ("0 of 1", "2.00")
        assert speed.standing("b", self.RACES) == ("2 of 2", "1.00")
        assert speed.standing("c", self.RACES) == ("not timed", "")

    @pytest.mark.parametrize("kind", measurable())
    def test_pictures_are_of_the_numbers(self, kind):
        races = speed.races(speed.report(speed.STRATEGIES)).get(kind, ())
        assert races, f"missing: problems of {kind} in docs/speed/ops.txt, then tools.documents.plots"
        picture = (ROOT / f"docs/speed/{kind}.svg").read_text(encoding="utf-8")
        assert plots.fingerprint(races) in picture
        assert all(name in picture for name in plots.names_of(races))
        assert len(plots.names_of(races)) <= math.lcm(len(plots.MARKS), len(plots.COLOURS))

    @pytest.mark.parametrize("suite", speed.SUITES)
    def test_pictures_of_the_suites_are_of_the_numbers(self, suite):
        picture = (ROOT / f"docs/speed/{suite}.svg").read_text(encoding="utf-8")
        assert fingerprint(speed.report(f"docs/speed/{suite}.json")) in picture

    def test_the_chart_of_networks_is_of_the_numbers(self):
        picture = (ROOT / plots.NETWORKS_CHART).read_text(encoding="utf-8")
        assert plots.networks_fingerprint(speed.report(plots.NETWORKS)) in picture
        assert all(name in picture for name in (*plots.PEERS, *plots.PANELS.values()))

    def test_a_picture_has_no_background_and_the_same_bytes(self):
        pytest.importorskip("matplotlib", reason="pip install '.[peers]' brings matplotlib")
        first, again = (plots.draw("Kind", self.RACES) for _ in range(2))
        assert first == again
        assert plots.fingerprint(self.RACES) != plots.fingerprint(self.RACES[:1])
        assert b"fill: #ffffff" not in first


class TestMarkdown:
    @pytest.mark.parametrize(
        ("text", "shown"),
        [("a*b", r"a\*b"), ("`a*b` <c>", r"`a*b` \<c>"), ("x[1]", r"x\[1\]"), ("[0, s)", r"\[0, s)")],
    )
    def test_escaping(self, text, shown):
        assert prose.escape_markdown(text) == shown

    def test_a_bar_in_a_cell(self):
        assert prose.table(("a",), [("x|y",)]).splitlines()[-1] == r"| x\|y |"

    def test_numbered_lists_are_kept(self):
        def documented():
            """What.

            It does: 1. One
            thing. 2. Another.
            """

        assert prose.paragraphs(documented) == ["What.", "It does:\n\n1. One thing.\n2. Another."]
