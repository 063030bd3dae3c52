"""A fault of gradc's own: one line, and a file that shows the fault again."""

import re
import tempfile
from pathlib import Path

import pytest
from support.cli import run_gradc, run_opt
from support.documents import CONV, INTERPOLATE, text_of, two_convolutions

import gradc
from dialects.support.entry import entry_function
from gradc import crash, exporter, samples
from passes.canonicalize_layout import CanonicalizeLayoutPass
from passes.legalize_onnx import LegalizeOnnxPass
from passes.materialize_constants import MaterializeConstantsPass
from passes.select_strategy import SelectStrategyPass

PASSES = [MaterializeConstantsPass, CanonicalizeLayoutPass, SelectStrategyPass, LegalizeOnnxPass]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """Where the reproducers go."""
    found = tmp_path / "crashes"
    found.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(found))
    return found


def fails(*_args, **_kwargs):
    raise ValueError("no such luck\nat all")


def reproducer(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def options_of(text: str) -> list[str]:
    """The -p of the command that the file shows."""
    (found,) = re.findall(r"^// gradc-opt -p '(.*)' THIS_FILE$", text, re.MULTILINE)
    return ["-p", found]


class TestPasses:
    @pytest.mark.parametrize("cls", PASSES)
    def test_the_file_holds_the_module_before_and_the_rest_of_the_pipeline(self, cls, folder, monkeypatch):
        stopped = run_gradc("compile", "-", "--stop-after", _before(cls.name), stdin=text_of(CONV).encode())
        with monkeypatch.context() as patch:
            patch.setattr(cls, "apply", fails)
            with pytest.raises(gradc.InternalError) as caught:
                gradc.compile(CONV)
            path = reproducer(folder)
            text = path.read_text(encoding="utf-8")
            assert str(caught.value) == (
                f"internal error in pass {cls.name}: ValueError: no such luck at all; this is a fault of "
                f"gradc's, please report it with {path}"
            )
            assert "// ValueError: no such luck at all\n" in text
            assert options_of(text)[1].split("{")[0].split(",")[0] == cls.name
            if stopped.code == 0:
                assert text.endswith(stopped.out)
            with pytest.raises(ValueError, match="no such luck"):
                run_opt(path, *options_of(text))
        # with the fault mended, the command takes the module to its end
        ended = run_opt(path, *options_of(text))
        assert ended.code == 0
        emitted = run_gradc("compile", "-", "--emit", "mlir", stdin=text_of(CONV).encode())
        assert ended.out.rstrip() == emitted.out.rstrip()

    def test_options_of_the_passes_are_in_the_command(self, folder, monkeypatch):
        monkeypatch.setattr(SelectStrategyPass, "apply", fails)
        with pytest.raises(gradc.InternalError):
            gradc.compile(CONV, target="cuda", opset=17, strategy="conv_to_matmul", threads=3)
        text = reproducer(folder).read_text(encoding="utf-8")
        (first,) = re.findall(r"select-strategy\{(.*?)\}", text)
        given = {"target=cuda", "opset=17", "threads=3", "strategy=conv-to-matmul"}
        assert set(first.replace('"', "").split()) == given
        monkeypatch.undo()
        ended = run_opt(reproducer(folder), *options_of(text))
        assert "onnx.MatMul" in ended.out

    def test_a_module_that_a_pass_leaves_broken(self, folder, monkeypatch):
        def break_it(self, ctx, op):
            function = entry_function(op)
            function.body.block.last_op.detach()

        monkeypatch.setattr(CanonicalizeLayoutPass, "apply", break_it)
        with pytest.raises(gradc.InternalError, match="internal error in pass canonicalize-layout"):
            gradc.compile(CONV)
        assert "func.return" in reproducer(folder).read_text(encoding="utf-8")

    def test_constants_are_in_the_file_to_the_last_bit(self, folder, monkeypatch):
        import numpy as np

        weights = np.random.default_rng(0).standard_normal((4, 2, 3, 3)).astype(np.float32)
        want = gradc.compile(CONV, constants={"t1": weights}).model
        with monkeypatch.context() as patch:
            patch.setattr(CanonicalizeLayoutPass, "apply", fails)
            with pytest.raises(gradc.InternalError):
                gradc.compile(CONV, constants={"t1": weights})
        again = gradc.compile(reproducer(folder)).model
        assert [t.raw_data for t in again.graph.initializer] == [t.raw_data for t in want.graph.initializer]

    def test_names_survive(self, folder, monkeypatch):
        with monkeypatch.context() as patch:
            patch.setattr(LegalizeOnnxPass, "apply", fails)
            with pytest.raises(gradc.InternalError):
                gradc.compile(two_convolutions())
        again = gradc.compile(reproducer(folder))
        assert [i.name for i in again.inputs] == ["t0", "t1", "t3"]
        assert [o.name for o in again.outputs] == ["t4"]

    def test_a_users_error_leaves_no_file(self, folder):
        with pytest.raises(gradc.UnsupportedError):
            gradc.compile(INTERPOLATE, strategy="conv-to-matmul")
        assert list(folder.iterdir()) == []


def _before(name: str) -> str:
    """The pass before one in the pipeline; a word that is none for the first pass."""
    from gradc.compiler import Options

    names = re.findall(r"([a-z0-9-]+)(?:\{[^}]*\})?(?:,|$)", Options().pipeline)
    index = names.index(name)
    return names[index - 1] if index and names.index(names[index - 1]) == index - 1 else "none"


class TestElsewhere:
    def test_the_exporter(self, folder, monkeypatch):
        monkeypatch.setattr(exporter, "check", fails)
        with pytest.raises(gradc.InternalError, match=r"^internal error in the exporter: ValueError"):
            gradc.compile(CONV, opset=17)
        text = reproducer(folder).read_text(encoding="utf-8")
        assert "// gradc compile --target cpu --opset 17 THIS_FILE -o model.onnx" in text
        monkeypatch.undo()
        assert gradc.compile(reproducer(folder)).outputs == gradc.compile(CONV).outputs

    def test_anywhere_else_the_command_line_is_in_the_file(self, folder, monkeypatch, tmp_path):
        path = tmp_path / "conv.json"
        path.write_text(text_of(CONV), encoding="utf-8")
        monkeypatch.setattr(samples, "random_inputs", fails)
        monkeypatch.setattr("gradc.commands.random_inputs", fails)
        result = run_gradc("run", path)
        assert result.code == 70
        assert result.line.startswith("internal error: ValueError: no such luck at all; this is a fault")
        written = reproducer(folder)
        assert str(written) in result.line
        assert "Traceback" in written.read_text(encoding="utf-8")

    def test_the_command_line(self, folder, monkeypatch, tmp_path):
        path, out = tmp_path / "conv.json", tmp_path / "out.onnx"
        path.write_text(text_of(CONV), encoding="utf-8")
        monkeypatch.setattr(CanonicalizeLayoutPass, "apply", fails)
        result = run_gradc("compile", path, "-o", out)
        assert (result.code, result.out) == (70, "")
        assert result.line.startswith("internal error in pass canonicalize-layout: ValueError: no such luck")
        assert not out.exists()

    def test_a_long_message_stays_a_line(self):
        error = crash.unexpected(ValueError("x" * 10_000))
        assert len(str(error)) < 1000
