"""A fault of gradc's own: one line, and a file that shows the fault again."""

import dataclasses
import json
import os
import platform
import re
import tempfile
from importlib.metadata import version
from pathlib import Path

import onnx
import onnxruntime
import pytest
from support.cli import run_gradc, run_opt
from support.documents import CONV, INTERPOLATE, text_of, two_convolutions

import gradc
from dialects.onnx import ops
from dialects.support.entry import entry_function
from dialects.support.memo import Memo
from gradc.compiler.driver import load
from gradc.crash_reports import crash
from gradc.crash_reports.recipes import Recipe
from gradc.graph.printing import module_text
from gradc.importers.mlir import parser
from gradc.importers.onednn import reader
from gradc.model import exporter
from gradc.tuning import measuring
from gradc.verification import prove, samples
from passes.builder.rewrite_cache import templates
from passes.canonicalize_layout import CanonicalizeLayoutPass
from passes.legalize_onnx import LegalizeOnnxPass
from passes.materialize_constants import MaterializeConstantsPass
from passes.select_strategy import SelectStrategyPass
from passes.strategies import base, choice
from passes.strategies.conv.conv_to_conv_transpose import ConvToConvTranspose

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


class TestStrategies:
    """What a strategy wrote is nobody else's fault: no user wrote the op that is refused."""

    @pytest.mark.parametrize("verb", ["compile", "explain"])
    @pytest.mark.parametrize(
        ("wrote", "expected_message"),
        [
            (
                lambda self, op, target, emit: emit(ops.TransposeOp(op.diff_dst, perm=[0, 0])),
                "to invalid ONNX: ",
            ),
            (
                lambda self, op, target, emit: op.diff_dst,
                "lowered grad.conv_backward_data to [1, 4, 3, 3], not ",
            ),
        ],
        ids=["no op", "another shape"],
    )
    def test_what_is_wrong(self, verb, wrote, expected_message, monkeypatch):
        monkeypatch.setattr(ConvToConvTranspose, "emit", wrote)
        fresh = {(choice, "_known"): {}, (choice, "_seen"): Memo(), (base, "_written"): templates()}
        for (module, name), empty in fresh.items():
            monkeypatch.setattr(module, name, empty)  # what other tests had written
        result = run_gradc(
            verb, "-", *(["-o", "-"] if verb == "compile" else []), stdin=text_of(CONV).encode()
        )
        assert result.code == 70
        assert "StrategyFault: conv-to-conv-transpose lowered" in result.line
        assert expected_message in result.line


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
            again = run_opt(path, *options_of(text))
            assert (again.code, "ValueError: no such luck" in again.err) == (70, True)
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
        (first,) = re.findall(r"select-strategy\{(.*?)\}", options_of(text)[1])
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

    def test_versions_are_in_the_file(self, folder, monkeypatch):
        monkeypatch.setattr(LegalizeOnnxPass, "apply", fails)
        with pytest.raises(gradc.InternalError):
            gradc.compile(CONV)
        text = reproducer(folder).read_text(encoding="utf-8")
        packages = ["xdsl", "numpy", "onnx", "ml_dtypes"]
        for name in packages:
            assert f" {name} {version(name)}," in text
        assert f"// gradc {gradc.__version__}, " in text
        assert f"Python {platform.python_version()}, {platform.platform()}\n" in text

    def test_a_users_error_leaves_no_file(self, folder):
        with pytest.raises(gradc.UnsupportedError):
            gradc.compile(INTERPOLATE, strategy="conv-to-matmul")
        assert list(folder.iterdir()) == []


def _before(name: str) -> str:
    """The pass before one in the pipeline; a word that is none for the first pass."""
    from gradc.compiler.options import Options

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
        monkeypatch.setattr("gradc.cli.running.random_inputs", fails)
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

    def test_a_model_that_onnxruntime_refuses(self, folder, monkeypatch):
        compiled = gradc.compile(CONV)
        monkeypatch.setattr(onnxruntime, "InferenceSession", fails)
        with pytest.raises(gradc.InternalError, match="in onnxruntime, which refuses the model: ValueError"):
            compiled.session()
        assert replayed(folder)[0] == 70
        monkeypatch.undo()
        assert replayed(folder)[0] == 0

    @pytest.mark.parametrize("form", ["json", "mlir", "document"])
    def test_the_importers(self, form, folder, monkeypatch, tmp_path):
        path = tmp_path / f"g.{form}"
        source = text_of(CONV) if form == "json" else module_text(load(CONV))
        path.write_text(source, encoding="utf-8")
        if form == "mlir":
            monkeypatch.setattr(parser, "check_graph", fails)
        else:
            monkeypatch.setattr(reader, "_producers", fails)
        with pytest.raises(gradc.InternalError, match=r"^internal error in the importer: ValueError"):
            gradc.compile(CONV if form == "document" else path, auto_pad_rule="documented")
        text = reproducer(folder).read_text(encoding="utf-8")
        if form == "document":
            assert json.loads("\n".join(line for line in text.splitlines() if line[:2] != "//")) == CONV
        else:
            assert text.endswith(source)
        assert replayed(folder)[0] == 70
        monkeypatch.undo()
        assert replayed(folder)[0] == 0

    def test_measurements(self, folder, monkeypatch, tmp_path):
        monkeypatch.setenv("GRADC_CACHE_DIR", str(tmp_path / "cache"))
        monkeypatch.setattr(measuring, "lower_problem", fails)
        with pytest.raises(gradc.InternalError, match="in the choice of strategies: ValueError"):
            gradc.compile(CONV, tune=True)
        assert replayed(folder)[0] == 70
        assert not (tmp_path / "cache").exists()

    def test_too_little_memory_is_not_our_fault(self, folder, monkeypatch):
        def no_memory(*_):
            raise MemoryError

        monkeypatch.setattr(CanonicalizeLayoutPass, "apply", no_memory)
        with pytest.raises(MemoryError):
            gradc.compile(CONV)
        assert list(folder.iterdir()) == []

    def test_a_long_message_stays_a_line(self):
        error = crash.unexpected_error(ValueError("x" * 10_000))
        assert len(str(error)) < 1000


def replayed(folder: Path) -> tuple[int, str]:
    """The exit code of a replay of the one reproducer, and its last line."""
    result = run_opt("--replay", reproducer(folder))
    assert result.out == ""
    return result.code, result.lines[-1]


class TestReplay:
    @pytest.mark.parametrize("cls", PASSES)
    def test_a_pass(self, cls, folder, monkeypatch):
        with monkeypatch.context() as patch:
            patch.setattr(cls, "apply", fails)
            with pytest.raises(gradc.InternalError):
                gradc.compile(CONV)
            code, line = replayed(folder)
            assert code == 70
            assert line == (f"reproduced: internal error in pass {cls.name}: ValueError: no such luck at all")
            assert "Traceback" in run_opt("--replay", reproducer(folder)).err
        assert replayed(folder) == (0, f"not reproduced: pass {cls.name} ends without an error")

    def test_the_exporter(self, folder, monkeypatch):
        monkeypatch.setattr(exporter, "check", fails)
        with pytest.raises(gradc.InternalError):
            gradc.compile(CONV, opset=17)
        code, line = replayed(folder)
        assert (code, line[:42]) == (70, "reproduced: internal error in the exporter")

    @pytest.mark.parametrize("derivative", [gradc.grad, gradc.hvp])
    def test_the_check_of_a_gradient(self, derivative, folder, monkeypatch):
        text = "g (float[N,3] x) => (float[N,3] y) <float[3] w = {1, 2, 3}> { a = Mul(x, w) y = Tanh(a) }"
        source = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 18]> {text}')
        step = "the check of the gradient"
        with monkeypatch.context() as patch:
            patch.setattr(prove, "judge_sums", fails)
            with pytest.raises(gradc.InternalError, match=f"internal error in {step}: ValueError"):
                derivative(source, wrt=["x", "w"], reduce="sum", check=True)
            said = f"reproduced: internal error in {step}: ValueError: no such luck at all"
            assert replayed(folder) == (70, said)
            assert run_gradc("reduce", reproducer(folder), "-o", folder.parent / "small.mlir").code == 0
        assert replayed(folder) == (0, f"not reproduced: {step} ends without an error")

    def test_the_limits_in_force(self, folder, monkeypatch):
        with monkeypatch.context() as patch:
            patch.setattr(exporter, "check", fails)
            with pytest.raises(gradc.InternalError):
                gradc.compile(CONV, limits=gradc.Limits(nodes=77))
            assert replayed(folder)[0] == 70
        text = reproducer(folder).read_text(encoding="utf-8")
        reproducer(folder).write_text(text.replace('"nesting": 64', '"nesting": 1'), encoding="utf-8")
        code, line = replayed(folder)
        assert (code, "the limit nesting" in line, '"nodes": 77' in text) == (3, True, True)

    def test_another_fault(self, folder, monkeypatch):
        monkeypatch.setattr(CanonicalizeLayoutPass, "apply", fails)
        with pytest.raises(gradc.InternalError):
            gradc.compile(CONV)
        monkeypatch.setattr(CanonicalizeLayoutPass, "apply", lambda *_: {}["key"])
        code, line = replayed(folder)
        assert code == 70
        assert line.startswith("another fault than ValueError in pass canonicalize-layout: ")

    def test_a_refusal(self, folder, monkeypatch):
        monkeypatch.setattr(CanonicalizeLayoutPass, "apply", fails)
        with pytest.raises(gradc.InternalError):
            gradc.compile(CONV)

        def refuses(*_):
            raise gradc.UnsupportedError(gradc.Diagnostic("error", "not that one"))

        monkeypatch.setattr(CanonicalizeLayoutPass, "apply", refuses)
        assert replayed(folder) == (3, "error: not that one")

    BAD = {
        "func.func @f() {}": "has no recipe",
        "// recipe: {": "recipe of",
        "// recipe: []": "recipe of",
        "// recipe: {}": "recipe of",
        '// recipe: {"stage": "shell", "step": ""}': "stage: given shell, expected one of passes,",
        '// recipe: {"stage": 3, "step": ""}': "stage: given 3, expected str",
        '// recipe: {"stage": "passes", "step": "", "command": "rm"}': "command",
        '// recipe: {"stage": "passes", "step": "", "limits": {"opss": 1}}\nx': "opss",
        '// recipe: {"stage": "passes", "step": "", "limits": {"ops": 0}}\nx': "limit ops",
        '// recipe: {"stage": "passes", "step": ""}': "nothing after its recipe",
        "// recipe: " + "[" * 100_000: "recipe of",
    }

    @pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
    def test_files_that_are_no_reproducers(self, text, tmp_path):
        path = tmp_path / "bad.mlir"
        path.write_text(text, encoding="utf-8")
        result = run_opt("--replay", path)
        assert result.code == 4
        assert self.BAD[text] in result.line

    @pytest.mark.parametrize(
        ("field", "value", "message"),
        [
            ("pipeline", "no-such-pass", "no pass no-such-pass"),
            ("options", {"output": "/x"}, "options of the recipe: .*output"),
            ("options", {"target": "tpu"}, "target: given 'tpu'"),
        ],
    )
    def test_recipes_that_no_gradc_wrote(self, field, value, message, tmp_path):
        recipe = dataclasses.replace(Recipe("model", "the exporter"), **{field: value})
        (tmp_path / "a.mlir").write_text(f"{recipe.line()}\n{module_text(load(CONV))}", encoding="utf-8")
        result = run_opt("--replay", tmp_path / "a.mlir")
        assert result.code in (2, 4)
        assert re.search(message, result.line)

    def test_a_form_that_is_none(self, tmp_path):
        recipe = Recipe("import", "the importer", form="yaml")
        (tmp_path / "a.mlir").write_text(f"{recipe.line()}\n{{}}", encoding="utf-8")
        result = run_opt("--replay", tmp_path / "a.mlir")
        assert result.code == 4
        assert "form of the recipe: given yaml, expected one of json, mlir" in result.line

    def test_a_file_is_needed(self, tmp_path):
        assert "--replay needs a file" in run_opt("--replay").line
        result = run_opt("--replay", tmp_path / "none")
        assert (result.code, result.line) == (
            4,
            f"error: cannot read {tmp_path}/none: No such file or directory",
        )


class TestFolders:
    """Where the file goes when the folder for temporary files is of no use."""

    @pytest.fixture
    def crash_line(self, monkeypatch, tmp_path):
        work = tmp_path / "work"
        work.mkdir()
        monkeypatch.chdir(work)
        monkeypatch.setattr(CanonicalizeLayoutPass, "apply", fails)

        def run() -> str:
            result = run_gradc("compile", "-", "-o", "m.onnx", stdin=text_of(CONV).encode())
            assert result.code == 70
            return result.line

        return run

    def test_the_current_folder(self, crash_line, monkeypatch, tmp_path):
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
        line = crash_line()
        (written,) = (tmp_path / "work").iterdir()
        assert f"please report it with {written.name} (cannot write {tmp_path}/gone/" in line

    def test_nowhere(self, crash_line, monkeypatch, tmp_path):
        def full(number):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        line = crash_line()
        assert line.startswith("internal error in pass canonicalize-layout: ValueError: no such luck at all;")
        assert "no file could be written that shows it again: cannot write" in line
        assert line.count("No space left on device") == 2
        assert list((tmp_path / "work").iterdir()) == []

    def test_no_folder_for_temporary_files_at_all(self, crash_line, monkeypatch, tmp_path):
        def none():
            raise FileNotFoundError(2, "No usable temporary directory found")

        monkeypatch.setattr(tempfile, "gettempdir", none)
        assert "(No usable temporary directory found)" in crash_line()
        assert len(list((tmp_path / "work").iterdir())) == 1


@pytest.mark.parametrize("run", [run_gradc, run_opt])
def test_a_lack_of_memory_is_no_fault(run, folder, tmp_path, monkeypatch):
    def lacks(*_args):
        raise MemoryError("Unable to allocate 4 TiB")

    monkeypatch.setattr(SelectStrategyPass, "apply", lacks)
    path = tmp_path / "graph.json"
    path.write_text(text_of(CONV))
    options = ["compile", path, "-o", "-"] if run is run_gradc else [path, "-p", "select-strategy"]
    ended = run(*options)
    assert ended.code == 3
    assert ended.line == "error: not enough memory: Unable to allocate 4 TiB"
    assert not list(folder.iterdir())
