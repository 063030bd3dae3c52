"""The command line: every option, every exit code, what goes to which stream."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from support.cli import run_gradc, run_opt
from support.documents import (
    CONV,
    CONV_TRANSPOSE,
    INTERPOLATE,
    RESIZE,
    UPSAMPLE,
    attrs,
    changed,
    first_op,
    ports,
    text_of,
    two_convolutions,
)
from support.forkserver import ForkServer, Surroundings

import gradc
import gradc.cli.main
from gradc.compiler.options import Options
from passes.canonicalize_layout import CanonicalizeLayoutPass

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
COMMANDS = tuple(gradc.cli.main.cli.commands)
WRITING = [name for name, command in gradc.cli.main.cli.commands.items() if "output" in str(command.params)]
DOCUMENTS = {
    "conv": CONV,
    "conv_transpose": CONV_TRANSPOSE,
    "interpolate": INTERPOLATE,
    "resize": RESIZE,
    "upsample": UPSAMPLE,
    "two": two_convolutions(),
}
PASSES = list(dict.fromkeys(re.findall(r"([a-z0-9-]+)(?:\{[^}]*\})?(?:,|$)", Options().pipeline)))


FULL_DISK = Surroundings(streams={1: "/dev/full"})


def spawned(*args: object, stdout: Any = subprocess.PIPE) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "gradc.cli.main", *map(str, args)]
    return subprocess.run(command, cwd=ROOT, stdout=stdout, stderr=subprocess.PIPE, check=False)


@pytest.fixture(params=sorted(DOCUMENTS))
def document(request, tmp_path) -> Path:
    path = tmp_path / f"{request.param}.json"
    path.write_text(text_of(DOCUMENTS[request.param]), encoding="utf-8")
    return path


@pytest.fixture
def conv(tmp_path) -> Path:
    path = tmp_path / "conv.json"
    path.write_text(text_of(CONV), encoding="utf-8")
    return path


@pytest.fixture
def remarkable(tmp_path) -> Path:
    """A graph with a remark that `--strict` makes an error."""
    path = tmp_path / "remarkable.json"
    path.write_text(text_of(changed(CONV, attrs(output_padding=[1, 1]))), encoding="utf-8")
    return path


@pytest.fixture
def out(tmp_path) -> Path:
    return tmp_path / "out.onnx"


def op_types(path: Path) -> list[str]:
    return [node.op_type for node in onnx.load(path).graph.node]


def feeds(path: Path, **shapes) -> None:
    rng = np.random.default_rng(0)
    np.savez(path, **{n: rng.standard_normal(s).astype(np.float32) for n, s in shapes.items()})


def loaded_by(*args: str) -> list[str]:
    """The modules that a command leaves loaded."""
    code = (
        "import sys, gradc.cli.main\n"
        "try: gradc.cli.main.main(sys.argv[1:])\n"
        "finally: print('\\n', *sorted(sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *args], cwd=ROOT, capture_output=True, check=True, text=True
    )
    return done.stdout.splitlines()[-1].split()


class TestHelp:
    @pytest.mark.parametrize("command", [[], *([c] for c in COMMANDS)])
    @pytest.mark.parametrize("flag", ["-h", "--help"])
    def test_help(self, command, flag):
        result = run_gradc(*command, flag)
        assert (result.code, result.err) == (0, "")
        assert result.out.startswith(f"Usage: {' '.join(['gradc', *command])} ")

    def test_the_synopsis(self):
        """The options of issue 2."""
        synopsis = {
            "compile": "--target --opset --constants --strategy --emit --stop-after --print-ir-after-all "
            "--print-ir-after-change --timing --strict --strict-ieee --check --output --threads --tune "
            "--tuning-file --tune-budget --shape",
            "explain": "--json --tune --threads --target --measure-peak --tuning-file --tune-budget --shape",
            "run": "--inputs --seed --output --ep --threads",
            "verify": "--ep --rtol --report",
            "inspect": "--json",
            "doctor": "--json",
        }
        for command, options in synopsis.items():
            text = run_gradc(command, "--help-all").out
            for option in options.split():
                assert re.search(rf"{option}\b", text), (command, option)

    @pytest.mark.parametrize("args", [["--help"], ["compile", "--help"], ["run", "--help"], ["--version"]])
    def test_help_imports_nothing_heavy(self, args):
        modules = loaded_by(*args)
        packages = {name.partition(".")[0] for name in modules}
        assert "click" in packages
        assert not packages & {"onnx", "onnxruntime", "numpy", "xdsl", "ml_dtypes"}
        names_only = {"passes", "passes.targets"}
        assert {name for name in modules if name.startswith("passes")} <= names_only

    @pytest.mark.parametrize("command", ["compile", "verify"])
    def test_no_command_loads_the_interpreters_of_other_dialects(self, command, tmp_path):
        target = ["-o", str(tmp_path / "model.onnx")] if command == "compile" else []
        loaded = loaded_by(command, "examples/conv_backward.mlir", *target)
        assert "passes" in loaded
        assert not [name for name in loaded if name.startswith("xdsl.interpreters")]

    def test_version(self):
        assert run_gradc("--version").out == f"gradc, version {gradc.__version__}\n"

    def test_as_a_module(self):
        command = [sys.executable, "-m", "gradc", "--version"]
        done = subprocess.run(command, capture_output=True, check=True, text=True)
        assert done.stdout == f"gradc, version {gradc.__version__}\n"

    @pytest.mark.parametrize("command", [[], *([c] for c in COMMANDS)])
    def test_the_help_command(self, command):
        assert run_gradc("help", *command) == run_gradc(*command, "--help")

    def test_help_on_what_is_no_command(self):
        result = run_gradc("help", "comple")
        assert result.code == 2
        assert "No such command 'comple'. Did you mean compile" in result.err

    @pytest.mark.parametrize("command", COMMANDS)
    def test_help_names_no_option_that_the_command_lacks(self, command):
        parameters = gradc.cli.main.cli.commands[command].params
        own = {name for parameter in parameters for name in parameter.opts}
        reported = " ".join(filter(None, (getattr(parameter, "help", "") for parameter in parameters)))
        assert set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", reported)) <= own

    def test_the_words_of_a_verdict_are_explained(self, conv):
        """On the page about the terminal, and in the help of the command that prints it."""
        header = run_gradc("verify", conv).out.splitlines()[0]
        columns = re.split(r"  +", header.rstrip())[3:]
        assert columns == ["worst error", "typical", "bound"]
        page = (ROOT / "docs/terminal.md").read_text(encoding="utf-8")
        help = " ".join(run_gradc("verify", "--help").out.split())
        for column in columns:
            assert f"`{column}`" in page
            assert column.split()[0] in help

    @pytest.mark.parametrize("command", WRITING)
    def test_what_must_be_given_is_in_the_usage_line(self, command, conv):
        wanted = re.findall(r"Missing option '(-\w)'", run_gradc(command, conv).err)
        for option in wanted:
            usage, _, rest = run_gradc(command, "--help").out.partition("\n")
            assert f" {option} " in usage
            assert "[required" in rest


class TestCompile:
    def test_a_model(self, document, out):
        result = run_gradc("compile", document, "-o", out)
        assert (result.code, result.out) == (0, "")
        onnx.checker.check_model(str(out), full_check=True)
        assert out.read_bytes() == gradc.compile(document).model.SerializeToString(deterministic=True)

    def test_stdin_and_stdout(self, document, out):
        run_gradc("compile", document, "-o", out)
        result = run_gradc("compile", "-", "-o", "-", stdin=document.read_bytes())
        assert result.code == 0
        piped, written = onnx.load_from_string(result.data), onnx.load(out)
        for model in (piped, written):
            for node in model.graph.node:
                del node.metadata_props[:]  # they name the file
        assert piped == written

    @pytest.mark.parametrize("text", [EXAMPLES / "conv_backward.mlir", EXAMPLES / "resize_dynamic.mlir"])
    def test_mlir_from_stdin(self, text, out):
        assert run_gradc("compile", "-", "-o", out, stdin=text.read_bytes()).code == 0

    def test_target_and_opset(self, conv, out):
        options = ["--target", "cuda", "--opset", "17", "--record-pipeline"]
        assert run_gradc("compile", conv, "-o", out, *options).code == 0
        assert onnx.load(out).opset_import[0].version == 17
        (pipeline,) = (p.value for p in onnx.load(out).metadata_props if p.key == "gradc.pipeline")
        assert "target=cuda opset=17" in pipeline

    def test_constants(self, conv, out, tmp_path):
        feeds(tmp_path / "w.npz", t1=(4, 2, 3, 3))
        assert run_gradc("compile", conv, "-o", out, "--constants", tmp_path / "w.npz").code == 0
        assert [i.name for i in onnx.load(out).graph.input] == ["t0"]

    @pytest.mark.parametrize("name", ["conv-to-matmul", "conv_to_matmul"])
    def test_strategy(self, name, conv, out):
        assert run_gradc("compile", conv, "-o", out, "--strategy", name).code == 0
        assert "MatMul" in op_types(out)

    def test_auto_pad_rule(self, tmp_path, out):
        """X = 9, Y = 3, s = 2, K = 4 is legal by the page alone."""
        path = tmp_path / "page.json"
        change = attrs(auto_pad="SAME_UPPER", dst_shape=[1, 2, 9, 9])
        sizes = ports(None, [4, 2, 4, 4], [1, 2, 9, 9])
        path.write_text(text_of(changed(CONV, change, sizes)), encoding="utf-8")
        assert run_gradc("compile", path, "-o", out).code == 4
        assert run_gradc("compile", path, "-o", out, "--auto-pad-rule", "documented").code == 0
        for command in ("verify", "inspect"):
            assert run_gradc(command, path).code == 4
            assert run_gradc(command, path, "--auto-pad-rule", "documented").code == 0

    def test_drop_unused_inputs(self, tmp_path, out):
        path = tmp_path / "resize.json"
        path.write_text(text_of(INTERPOLATE), encoding="utf-8")
        staying = run_gradc("compile", path, "-o", out)
        assert "input t0 is unused but still required" in staying.line
        assert [i.name for i in onnx.load(out).graph.input] == ["t0", "t1"]
        dropped = run_gradc("compile", path, "-o", out, "--drop-unused-inputs")
        assert (dropped.code, dropped.lines, len(dropped.written)) == (0, [], 1)
        assert [i.name for i in onnx.load(out).graph.input] == ["t1"]
        assert run_gradc("run", out).code == 0
        text = run_gradc("compile", path, "--emit", "mlir", "--drop-unused-inputs").out
        assert "%t0" not in text

    def test_strict(self, remarkable, out):
        result = run_gradc("compile", remarkable, "-o", out)
        assert result.code == 0
        for line in result.lines:
            assert re.match(rf"{remarkable}:\d+:\d+: (remark|warning): ", line)
        assert result.lines
        out.unlink()
        result = run_gradc("compile", remarkable, "-o", out, "--strict")
        assert result.code == 4
        assert all(re.match(rf"{remarkable}:\d+:\d+: error: ", line) for line in result.lines)
        assert not out.exists()

    def test_remarks_and_data_do_not_mix(self, remarkable):
        result = run_gradc("compile", remarkable, "-o", "-")
        assert "output_padding" in result.err
        onnx.load_from_string(result.data)
        result = run_gradc(
            "compile", remarkable, "--emit", "mlir", "--print-ir-after-all", "--timing", "--check"
        )
        assert result.out.startswith("builtin.module")
        assert result.out.count("builtin.module") == 1


class TestEmitMlir:
    @pytest.mark.sweep
    @pytest.mark.parametrize("after", PASSES)
    def test_the_ir_after_every_pass_compiles_to_the_same_numbers(self, after, document, tmp_path):
        text = tmp_path / "graph.mlir"
        result = run_gradc("compile", document, "--stop-after", after, "-o", text)
        assert (result.code, result.out) == (0, "")
        compiled, again = gradc.compile(document), gradc.compile(text)
        assert (again.inputs, again.outputs) == (compiled.inputs, compiled.outputs)
        fed = gradc.verification.samples.random_inputs(compiled.source, 0)
        want, got = compiled.run(fed), again.run(fed)
        for name, array in want.items():
            np.testing.assert_allclose(got[name], array, atol=1e-5)

    def test_the_emitted_module_is_the_same_model(self, document, tmp_path):
        """But for the names of nodes and of the values between them, and for the places."""
        text = tmp_path / "graph.mlir"
        assert run_gradc("compile", document, "--emit", "mlir", "-o", text).code == 0
        first, second = (_anonymous(gradc.compile(p).model) for p in (document, text))
        assert first == second

    def test_to_stdout_without_o(self, conv):
        emitted = run_gradc("compile", conv, "--emit", "mlir")
        assert emitted.out == run_gradc("compile", conv, "--emit", "mlir", "-o", "-").out
        assert run_gradc("compile", conv, "--stop-after", PASSES[-1]).out == emitted.out
        assert run_opt("-", "-p", "legalize-onnx", stdin=emitted.out.encode()).code == 0

    def test_constants_and_underscores(self, conv, tmp_path):
        feeds(tmp_path / "w.npz", t1=(4, 2, 3, 3))
        result = run_gradc("compile", conv, "--stop-after", "infer_types", "--constants", tmp_path / "w.npz")
        assert "onnx.Constant" in result.out
        assert "%t1: " not in result.out

    def test_a_pass_that_is_none(self, conv):
        result = run_gradc("compile", conv, "--stop-after", "infer-type")
        assert result.code == 2
        assert "--stop-after: given infer-type, expected one of" in result.line
        assert "did you mean infer-types?" in result.line


def _anonymous(model: onnx.ModelProto) -> onnx.ModelProto:
    """Values between nodes and nodes get numbers; places go."""
    edges = {v.name for v in (*model.graph.input, *model.graph.output)}
    names: dict[str, str] = {"": ""} | {name: name for name in edges}
    for tensor in model.graph.initializer:
        tensor.name = names.setdefault(tensor.name, f"w{len(names)}")
    for index, node in enumerate(model.graph.node):
        node.name = f"n{index}"
        for output in node.output:
            names.setdefault(output, f"v{len(names)}")
        for field in (node.input, node.output):
            field[:] = [names[name] for name in field]
        del node.metadata_props[:]
    return model


class TestRun:
    def test_a_graph_and_its_model_agree(self, document, out, tmp_path):
        run_gradc("compile", document, "-o", out)
        for source in (document, out):
            result = run_gradc("run", source, "--seed", 3, "-o", tmp_path / "got.npz")
            assert result.code == 0
            assert re.fullmatch(r"(t\d+: float32 [x\d]+, min .*, max .*, mean .*\n)+", result.out)
        shapes = {i.name: i.shape for i in gradc.compile(document).inputs}
        feeds(tmp_path / "in.npz", **shapes)
        results = []
        for source in (document, out):
            path = tmp_path / "results.npz"
            assert run_gradc("run", source, "--inputs", tmp_path / "in.npz", "-o", path).code == 0
            with np.load(path) as archive:
                results.append(dict(archive))
        with np.load(tmp_path / "in.npz") as archive:
            results.append(gradc.compile(document).run(dict(archive)))
        for name, array in results[0].items():
            for other in results[1:]:
                np.testing.assert_array_equal(other[name], array)

    def test_a_seed_decides(self, conv):
        first, again, other = (run_gradc("run", conv, "--seed", seed).out for seed in (1, 1, 2))
        assert first == again != other

    def test_to_stdout(self, conv):
        result = run_gradc("run", conv, "-o", "-")
        described, reported = result.err.splitlines()
        assert described.startswith("t2: float32 1x2x5x5")
        assert reported.startswith("ran on random inputs, --seed 0")
        with np.load(io.BytesIO(result.data)) as archive:
            assert archive["t2"].shape == (1, 2, 5, 5)

    def test_options_of_the_runtime(self, conv):
        want = run_gradc("run", conv).out
        assert run_gradc("run", conv, "--ep", "cpu", "--threads", 1).out == want
        assert run_gradc("run", conv, "--target", "cuda", "--ep", "cpu").code == 0

    def test_the_target_follows_the_provider(self, conv, monkeypatch):
        requested = []
        monkeypatch.setattr(
            "gradc.cli.running.run_compiled", lambda c, *_: requested.append(c.options.target) or ({}, [])
        )
        for options in ([], ["--ep", "cuda"], ["--ep", "cuda", "--target", "cpu"], ["--target", "cuda"]):
            run_gradc("run", conv, *options)
        assert requested == ["cpu", "cuda", "cpu", "cuda"]

    def test_bfloat16_through_files(self, tmp_path):
        path = tmp_path / "conv.json"
        path.write_text(text_of(changed(CONV, ports(dtypes=("bf16",) * 3))), encoding="utf-8")
        dy, w = (np.ones(s, ml_dtypes.bfloat16) for s in ((1, 4, 3, 3), (4, 2, 3, 3)))
        np.savez(tmp_path / "in.npz", t0=dy, t1=w)
        result = run_gradc("run", path, "--inputs", tmp_path / "in.npz", "-o", tmp_path / "out.npz")
        assert (result.code, result.lines, len(result.written)) == (0, [], 1)
        with np.load(tmp_path / "out.npz") as archive:
            got = archive["t2"].view(ml_dtypes.bfloat16)
        np.testing.assert_array_equal(got, gradc.compile(path).run({"t0": dy, "t1": w})["t2"])

    def test_shapes_of_a_dynamic_graph(self, tmp_path):
        path, results = EXAMPLES / "resize_dynamic.mlir", tmp_path / "out.npz"
        run_gradc("run", path, "--shape", "grads=2x3x9x8", "--shape", "image=2x3x4x5", "-o", results)
        with np.load(results) as archive:
            assert archive["y"].shape == (2, 3, 4, 5)
        result = run_gradc("run", path, "--shape", "grads=2x4x9x8")
        assert (result.code, result.out) == (4, "")
        assert result.line.startswith("error: --shape of grads: given [2, 4, 9, 8], expected [N, 3, ?, ?]")

    def test_a_missing_provider_says_what_to_install(self, conv):
        if "CUDAExecutionProvider" in gradc.runtime.session.available_providers():
            pytest.skip("there is one")
        result = run_gradc("run", conv, "--ep", "cuda")
        assert result.code == 3
        assert 'pip install "onnxruntime-gpu[cuda,cudnn]' in result.line


class TestVerify:
    def test_every_op(self, document):
        assert run_gradc("verify", document).code == 0

    @pytest.mark.parametrize("name", ["conv_backward.mlir", "resize_dynamic.mlir"])
    def test_examples(self, name):
        assert run_gradc("verify", EXAMPLES / name, "--seed", 5, "--threads", 1).code == 0


USAGE = [
    ([], "Usage"),
    (["compile"], "Missing argument 'IN...'"),
    (["nothing"], "No such command 'nothing'"),
    (["compile", "{}"], "Missing option '-o'"),
    (["compile", "{}", "-o", "x", "--target", "tpu"], "'tpu' is not one of 'cpu', 'cuda', 'portable'"),
    (["compile", "{}", "-o", "x", "--opset", "new"], "'new' is not a valid integer"),
    (["compile", "{}", "-o", "x", "--emit", "text"], "'text' is not one of"),
    (["compile", "{}", "-o", "x", "--auto-pad-rule", "page"], "'page' is not one of"),
    (["compile", "{}", "-o", "x", "--opset", "12"], "error: --opset: given 12, expected 13 to"),
    (
        ["compile", "{}", "-o", "x", "--strategy", "best"],
        "error: --strategy: given best, expected auto or the name of a strategy",
    ),
    (["compile", "{}", "-o", "x", "--stop-after", "best"], "error: --stop-after: given best"),
    (["run", "{}", "--threads", "0"], "0 is not in the range"),
    (["run", "{}", "--seed", "-1"], "-1 is not in the range"),
    (["run", "{}", "--ep", "tpu"], "'tpu' is not one of"),
    (["run", "{}", "--shape", "t0"], "--shape t0: expected NAME=2x4x8x8"),
    (["run", "{}", "--shape", "t0=2x-4"], "--shape t0=2x-4: expected NAME=2x4x8x8"),
    (["run", "{}", "--shape", "=2x4"], "--shape =2x4: expected NAME=2x4x8x8"),
    (["run", "{}", "--inputs", "in.npz", "--shape", "t0=2x4"], "the shapes are those of the arrays"),
    (["verify", "{}", "--inputs", "in.npz", "--shape", "t0=2x4"], "--inputs in.npz and --shape t0=2x4"),
    (["run", "model.onnx", "--strict"], "--strict is for graphs; model.onnx is a compiled model"),
    (["run", "model.onnx", "--strict-ieee"], "--strict-ieee is for graphs; model.onnx is a compiled model"),
    (["run", "model.onnx", "--target", "cpu"], "--target is for graphs"),
    (["verify", "{}", "--rtol", "small"], "'small' is not a valid float"),
]

UNSUPPORTED = [
    ("wildcard", changed(CONV, first_op(kind="Wildcard")), []),
    ("strategy", CONV, ["--strategy", "conv-to-conv"]),
    ("no_op", CONV, ["--strategy", "resize-to-matmul"]),
]

BAD = [
    ("groups", changed(CONV, attrs(groups=0)), []),
    ("kind", changed(CONV, first_op(kind="Convolutionbackwarddata")), []),
    ("constants", CONV, ["--constants", "no_such.npz"]),
]


class TestExitCodes:
    """0 and 1 are above."""

    @pytest.mark.parametrize(("args", "message"), USAGE)
    def test_2_usage(self, args, message, conv, tmp_path):
        result = run_gradc(*(arg.format(conv) for arg in args))
        assert (result.code, result.out) == (2, "")
        assert message in result.err
        assert "Traceback" not in result.err

    @pytest.mark.parametrize("command", ["compile", "run", "verify"])
    @pytest.mark.parametrize(
        ("code", "document", "options"),
        [*((3, *case[1:]) for case in UNSUPPORTED), *((4, *case[1:]) for case in BAD)],
        ids=[case[0] for case in (*UNSUPPORTED, *BAD)],
    )
    def test_3_unsupported_and_4_bad_input(self, command, code, document, options, tmp_path):
        path, out = tmp_path / "graph.json", tmp_path / "out"
        path.write_text(text_of(document), encoding="utf-8")
        where = ["-o", out] if command != "verify" else []
        result = run_gradc(command, path, *where, *options)
        assert (result.code, result.out) == (code, "")
        assert re.match(rf"({path}:\d+:\d+: )?error: ", result.line)
        assert sorted(os.listdir(tmp_path)) == ["graph.json"]

    @pytest.mark.parametrize(
        "words",
        [
            ["compile", "conv.json", "-o", "conv.json"],
            ["compile", "conv.json", "-o", "./link.json"],
            ["compile", "conv.json", "--constants", "in.npz", "-o", "in.npz"],
            ["run", "conv.json", "--inputs", "in.npz", "-o", "in.npz"],
            ["report", "conv.json", "-o", "conv.json"],
            ["reduce", "conv.json", "-o", "conv.json"],
        ],
        ids=" ".join,
    )
    def test_2_what_is_read_is_not_written_over(self, words, conv, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "link.json").symlink_to(conv)
        np.savez(tmp_path / "in.npz", t0=np.zeros(1))
        before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        result = run_gradc(*words)
        assert result.code == 2
        assert f"-o {words[-1]}: this file is an input" in result.err
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before

    @pytest.mark.parametrize(
        ("args", "message"),
        [
            (["compile", "no_such.json", "-o", "x"], "cannot read no_such.json: No such file or directory"),
            (["compile", "model.onnx", "-o", "x"], "cannot read model.onnx"),
            (["compile", "model.py", "-o", "x"], "model.py is a Python program: expected a graph; run it"),
            (["run", "no_such.onnx"], "cannot read no_such.onnx: No such file or directory"),
            (["run", "{}", "--inputs", "no_such.npz"], "cannot read no_such.npz"),
            (["run", "{}", "--inputs", "{}"], "it is not an .npz file"),
            (["compile", "{}", "-o", "no_such_folder/x.onnx"], "there is no folder"),
            (["run", "{}", "-o", "no_such_folder/x.npz"], "there is no folder"),
            (["compile", "-", "-o", "x"], "<stdin>:1:1: error: the file is empty"),
        ],
    )
    def test_4_files(self, args, message, conv, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        result = run_gradc(*(arg.format(conv) for arg in args))
        assert result.code == 4
        assert message in result.line
        assert os.listdir(tmp_path) == ["conv.json"]

    def test_4_a_file_that_is_no_model(self, tmp_path):
        (tmp_path / "bad.onnx").write_bytes(b"nothing")
        result = run_gradc("run", tmp_path / "bad.onnx")
        assert (result.code, result.out) == (4, "")
        assert "cannot load" in result.line

    def test_70_our_fault(self, conv, out, tmp_path, monkeypatch):
        def fail(*_):
            raise RuntimeError("broken")

        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        monkeypatch.setattr(CanonicalizeLayoutPass, "apply", fail)
        for args in (["compile", conv, "-o", out], ["run", conv], ["verify", conv], ["inspect", conv]):
            result = run_gradc(*args)
            assert (result.code, result.out) == (70, "")
            assert result.line.startswith("internal error in pass canonicalize-layout: RuntimeError: broken")
        assert not out.exists()

    def test_130_interrupted(self, conv, monkeypatch):
        def interrupt(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr("gradc.cli.running.random_inputs", interrupt)
        result = run_gradc("run", conv)
        assert (result.code, result.out) == (130, "")
        assert "Traceback" not in result.err

    def test_no_memory_is_not_our_fault(self, conv, monkeypatch):
        def fail(*_):
            raise MemoryError("8 TB")

        monkeypatch.setattr("gradc.cli.running.random_inputs", fail)
        result = run_gradc("run", conv)
        assert (result.code, result.line) == (3, "error: not enough memory: 8 TB")


class TestFiles:
    def test_a_former_file_survives_a_failure(self, conv, out, monkeypatch):
        run_gradc("compile", conv, "-o", out)
        before = out.read_bytes()
        result = run_gradc("compile", conv, "-o", out, "--strategy", "conv-to-conv")
        assert result.code == 3
        assert out.read_bytes() == before

        def fail(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("gradc.files.writing.os.replace", fail)
        result = run_gradc("compile", conv, "-o", out)
        assert result.code == 4
        assert result.line == f"error: cannot write {out}: No space left on device"
        assert out.read_bytes() == before
        assert sorted(os.listdir(out.parent)) == ["conv.json", "out.onnx"]


@pytest.mark.skipif(os.name != "posix", reason="pipes and /dev")
class TestProcess:
    def test_exit_codes(self, conv, tmp_path, server: ForkServer):
        assert spawned("compile", conv, "-o", tmp_path / "a.onnx").returncode == 0
        assert server.run("gradc", "compile", conv).code == 2
        assert server.run("gradc", "compile", tmp_path / "no.json", "-o", "x").code == 4

    @pytest.mark.parametrize(
        "args", [["inspect", "--json"], ["compile", "-o", "-"], ["compile", "--emit", "mlir"]]
    )
    def test_a_reader_that_leaves(self, args, server: ForkServer):
        """A pipe that is closed before the first byte is not an error."""
        command, *options = args
        graph = EXAMPLES / "resize_dynamic.mlir"
        ended = server.run("gradc", command, graph, *options, within=Surroundings(unread=(1,)))
        assert (ended.code, ended.err) == (0, "")

    def test_stdout_as_a_file(self, conv, tmp_path):
        piped = spawned("compile", conv, "-o", "/dev/stdout")
        assert piped.returncode == 0
        assert piped.stdout == run_gradc("compile", conv, "-o", "-").data
        onnx.load_from_string(piped.stdout)

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    @pytest.mark.parametrize(
        "args", [["inspect", "--json"], ["compile", "-o", "-"], ["compile", "--emit", "mlir"]]
    )
    def test_a_full_disk_behind_stdout(self, args, server: ForkServer):
        command, *options = args
        ended = server.run("gradc", command, EXAMPLES / "resize_dynamic.mlir", *options, within=FULL_DISK)
        assert (ended.code, ended.err) == (4, "error: No space left on device\n")

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    @pytest.mark.parametrize(
        ("program", "option"),
        [(name, f"--{what}") for name in ("gradc", "gradc-opt") for what in ("help", "version")]
        + [("gradc-opt", "--list-passes")],
    )
    def test_a_full_disk_behind_what_is_told_of_the_program(
        self, program: str, option: str, server: ForkServer
    ):
        ended = server.run(program, option, within=FULL_DISK)
        assert (ended.code, ended.err) == (4, "error: No space left on device\n")

    def test_a_full_disk_behind_the_stdout_of_a_new_process(self):
        with open("/dev/full", "wb") as full:
            done = spawned("--version", stdout=full)
        assert (done.returncode, done.stderr) == (4, b"error: No space left on device\n")


class TestJson:
    def test_every_json_is_json(self, conv):
        for args in (["inspect", conv], ["verify", conv], ["doctor"]):
            json.loads(run_gradc(*args, "--json").out)
