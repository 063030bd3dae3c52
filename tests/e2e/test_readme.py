"""What README.md and docs/ show is what gradc does."""

import contextlib
import io
import json
import re
import shlex
from pathlib import Path

import numpy as np
import onnx
import pytest
from support.cli import Result, run_gradc, run_opt
from support.documents import CONV_ATTRS, document, op, tensor

import gradc
from gradc import support_table

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def commands() -> list[list[str]]:
    """Every gradc and gradc-opt command line of the shell blocks, the demo's included."""
    found = []
    for block in blocks("sh"):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            text = " ".join(words).replace(".venv/bin/", "")
            found += [part.split() for part in text.split(" && ") if re.match(r"gradc(-opt)? ", part)]
    return found


def run(words: list[str]) -> Result:
    program, *args = words
    return run_opt(*args) if program == "gradc-opt" else run_gradc(*args)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A working directory with the files that the commands name."""
    examples = tmp_path / "examples"
    examples.symlink_to(ROOT / "examples")
    (tmp_path / "graph.json").symlink_to(examples / "decoder_backward.json")
    (tmp_path / "graph.mlir").symlink_to(examples / "conv_backward.mlir")
    rng = np.random.default_rng(0)
    inputs = gradc.compile(examples / "decoder_backward.json").inputs
    np.savez(tmp_path / "in.npz", **{i.name: rng.standard_normal(i.shape).astype("f") for i in inputs})
    monkeypatch.chdir(tmp_path)
    return tmp_path


class TestCommands:
    def test_they_are_found(self):
        assert {words[1] for words in commands() if words[0] == "gradc"} == {
            "compile",
            "run",
            "verify",
            "explain",
            "inspect",
            "doctor",
        }
        assert any(words[0] == "gradc-opt" for words in commands())

    @pytest.mark.parametrize("words", commands(), ids=" ".join)
    def test_each_runs(self, words, folder):
        result = run(words)
        assert result.code == 0, result.err
        assert "error" not in result.err
        for path in (word for word in words if word in ("graph.onnx", "out.npz", "decoder_backward.onnx")):
            assert (folder / path).stat().st_size > 0

    def test_options_in_the_comments_exist(self):
        """`gradc compile ...  # --target cuda, --opset 13.., ...`."""
        for command, comment in re.findall(r"^gradc (\w+) .*?# (.*)$", README, re.MULTILINE):
            known = run_gradc(command, "--help").out
            for option in re.findall(r"--[a-z-]+", comment):
                assert re.search(rf"{option}\b", known), (command, option)

    def test_the_exit_codes_are_told(self):
        codes = re.findall(r"(\d+) (?:ok|a check|usage|unsupported|bad|our)", README)
        assert set(codes) == {"0", "1", "2", "3", "4", "70"}


class TestPython:
    def test_the_example_runs(self, folder):
        (code,) = blocks("python")
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile(code, "README.md", "exec"), {})
        assert said.getvalue().startswith("(2, 32, 28, 28) ")
        model = onnx.load(folder / "conv_backward.onnx")
        assert [i.name for i in model.graph.input] == ["dy", "shape"]


def forms(text: str) -> list[str]:
    """Statements without the names of values; blanks do not count."""
    joined = re.sub(r"\s+", " ", text)
    joined = joined.replace("{ ", "{").replace(" }", "}")
    statements = re.findall(r"%\w+ = .*?(?=%\w+ = |func\.return|$)", joined)
    return [re.sub(r"%\w+", "%", statement).strip() for statement in statements]


def assert_shown(block: str, text: str) -> None:
    """Every statement of the block is in the text; after ` ...` the block says no more."""
    real = forms(text)
    assert forms(block)
    for statement in forms(block):
        start, elision, _ = statement.partition("...")
        fits = [r for r in real if (r.startswith(start) if elision else r == statement)]
        assert fits, f"{statement}\nis not among\n" + "\n".join(real)


class TestIR:
    SOURCE = "examples/conv_backward.mlir"

    def test_the_source(self):
        assert_shown(blocks("mlir")[0], (ROOT / self.SOURCE).read_text(encoding="utf-8"))

    def test_the_canonical_form(self, folder):
        (words,) = re.findall(r"after `(gradc compile .*?)`:", README)
        assert_shown(blocks("mlir")[1], run(words.split()).out)

    def test_the_model(self, folder):
        (flag,) = re.findall(r"and in the model, with `(--strategy .*?)`:", README)
        emitted = run_gradc("compile", self.SOURCE, *flag.split(), "--emit", "mlir")
        assert_shown(blocks("mlir")[2], emitted.out)

    def test_the_remark(self, folder):
        (line,) = (b.strip() for b in blocks("text") if " remark: " in b)
        assert line in run_gradc("compile", self.SOURCE, "-o", "out.onnx").err.splitlines()


class TestDiagnostic:
    def test_it_is_what_the_command_says(self, folder):
        """X = 7 where 5 and 6 are legal, at the place that the README names."""
        (line,) = (b.strip() for b in blocks("text") if " error: " in b)
        (row, column, name, identifier) = re.match(
            r'graph\.json:(\d+):(\d+): error: \[ConvolutionBackwardData "(\w+)" id (\d+)\]', line
        ).groups()
        wrong = op(
            int(identifier),
            "ConvolutionBackwardData",
            CONV_ATTRS | {"dst_shape": [1, 2, 7, 5]},
            [tensor(0, [1, 4, 3, 3]), tensor(1, [4, 2, 3, 3])],
            [tensor(2, [1, 2, 7, 5])],
            name,
        )
        path = folder / "graph.json"
        path.unlink()
        path.write_text(_placed(document(wrong), int(row), int(column)), encoding="utf-8")
        assert run_gradc("compile", "graph.json", "-o", "out.onnx").line == line


def _placed(doc: dict, row: int, column: int) -> str:
    """The document with its one op at a row and column, from 1."""
    (graph,) = doc["graph"]
    head = json.dumps(doc | {"graph": "HERE"})
    before, _, after = head.partition('"HERE"')
    return f"{before}[{chr(10) * (row - 1)}{' ' * (column - 1)}{json.dumps(graph)}]{after}"


class TestTables:
    def test_they_are_fresh(self):
        assert support_table.refreshed(README) == README

    def test_stale_ones_are_found_and_mended(self, tmp_path, monkeypatch, capsys):
        monkeypatch.setattr(support_table, "tables", lambda: "fresh")
        path = tmp_path / "page.md"
        path.write_text(f"a\n{support_table.BEGIN}\nstale\n{support_table.END}\nb\n", encoding="utf-8")
        assert support_table.main(["--check", str(path)]) == 1
        assert "stale" in capsys.readouterr().out
        assert support_table.main([str(path)]) == 0
        assert support_table.main(["--check", str(path)]) == 0
        assert path.read_text(encoding="utf-8").splitlines() == [
            "a",
            support_table.BEGIN,
            "fresh",
            support_table.END,
            "b",
        ]
        with pytest.raises(ValueError, match="no <!-- support table"):
            support_table.refreshed("no markers")

    def test_a_cell_is_what_compiling_says(self, monkeypatch):
        monkeypatch.setattr(support_table, "compiles", lambda *args: args[3] is False)
        assert support_table._cell("InterpolateBackward", "f32", 2, "cpu") == "static"
        monkeypatch.setattr(support_table, "compiles", lambda *args: False)
        assert support_table._cell("InterpolateBackward", "f32", 2, "cpu") == "no"


class TestLinks:
    @pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
    def test_every_relative_link_leads_somewhere(self, page):
        links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
        for link in links:
            if not re.match(r"[a-z]+:", link):
                assert (page.parent / link).exists(), link

    @pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
    def test_every_path_of_the_tree_exists(self, page):
        for path in re.findall(
            r"`((?:dialects|passes|gradc|tests|examples)/[\w./]+)`", page.read_text("utf-8")
        ):
            assert (ROOT / path).exists(), path
