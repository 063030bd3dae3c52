"""What is too large is refused with the name of its limit and the option that raises it."""

from __future__ import annotations

import contextlib
import json
import re
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from support.cli import run_gradc, run_opt
from support.documents import CONV
from support.large import convolution, interpolation, parallel
from support.tiers import some

import dialects.grad.sampling as sampling_of_axes
import gradc
from dialects.grad.reference.conv import conv_backward_data
from dialects.grad.reference.resize import Axis, resize_backward, scale_coordinate
from dialects.grad.resize import ResizeBackwardOp
from dialects.grad.sampling import AxisSampling, scale_step
from dialects.reference_cost import account
from dialects.support import dense, limits
from dialects.support.diagnostics import GradcError, UnsupportedError, UsageError
from dialects.support.limits import LimitError, Limits
from gradc.compiler.driver import load, lower, to_gradients
from gradc.compiler.options import Options
from gradc.importers import import_text
from passes.builder.op_builder import OpBuilder
from passes.resize.axis_forms.bands import blocks
from passes.resize.axis_forms.gathers import most_taps, tables
from passes.strategies import by_name
from passes.targets.target import Target
from tools import limits_table
from tools.generated import Part

ROOT = Path(__file__).resolve().parents[3]
HUGE = 2**40


@pytest.fixture
def write(tmp_path: Path):
    def write(text: str, name: str = "graph.mlir") -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


class TestTheLimits:
    def test_each_is_named_changed_and_shown(self):
        for name in limits.names():
            assert limits.parse([f"{name}=7"]).of(name) == 7
            assert f"`--limit {name}=N`" in limits_table.table()

    def test_units(self):
        assert limits.parse(["ops=3k", "file_bytes=2G"]) == Limits(ops=3000, file_bytes=2 * 10**9)

    @pytest.mark.parametrize(
        ("setting", "message"),
        [
            ("opz=3", "did you mean ops?"),
            ("ops", "given nothing, expected a number"),
            ("ops=0", "given 0, expected a number"),
            ("ops=-1", "given -1, expected a number"),
            ("ops=1e6", "given 1e6, expected a number"),
            ("ops=_", "given _, expected a number"),
        ],
    )
    def test_a_wrong_setting_is_a_usage_error(self, setting: str, message: str):
        ended = run_gradc("inspect", ROOT / "examples/decoder_backward.json", "--limit", setting)
        assert ended.code == 2
        assert message in ended.line

    def test_hold_for_as_long_as_a_context(self):
        with limits.using(Limits(ops=5)):
            assert limits.current().ops == 5
        assert limits.current() == Limits()

    @pytest.mark.parametrize("value", [0, -1, 1.5, True, "3"])
    def test_no_whole_number(self, value):
        with pytest.raises(UsageError, match="limit ops: given"):
            Limits(ops=value)

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            (5, "given 5, expected one of file-bytes, "),
            ("opps", "did you mean ops"),
            (None, "given None"),
            ([], "given"),
        ],
    )
    def test_no_limit(self, name, message: str):
        with pytest.raises(UsageError, match=f"limit: .*{message}"):
            Limits().of(name)

    def test_names_in_both_spellings(self):
        assert Limits(file_bytes=3).of("file-bytes") == Limits(file_bytes=3).of("file_bytes") == 3

    def test_the_documents_are_fresh(self):
        text = (ROOT / "docs/limits.md").read_text(encoding="utf-8")
        assert Part("limits").read(text) == limits_table.table()


class TestOps:
    def test_from_a_document(self):
        with pytest.raises(LimitError, match=r"ops of the graph: given 3, .*Limits\(ops=3\) raises it"):
            gradc.compile(parallel(3), limits=Limits(ops=2))

    def test_from_the_builder_and_from_text(self, write):
        text = convolution((1, 2, 5), (2, 3, 3))
        assert run_gradc("inspect", write(text), "--limit", "ops=3").code == 3
        assert run_opt(write(text), "--limit", "ops=3").code == 3
        assert run_opt(write(text), "--limit", "ops=4").code == 0
        graph = gradc.Graph()
        graph.output(graph.input("x", "f32", [2]), "y")
        with pytest.raises(LimitError, match="the limit ops"):
            gradc.compile(graph, limits=Limits(ops=1))

    def test_records_of_a_document(self, write):
        ended = run_gradc(
            "inspect", write('{"graph": [' + "[]," * 200 + "[]]}", "g.json"), "--limit", "ops=3"
        )
        assert ended.code == 3
        assert "objects and arrays of the document" in ended.line


class TestFiles:
    def test_a_large_one(self, write):
        path = write(json.dumps(CONV), "graph.json")
        size = path.stat().st_size
        ended = run_gradc("inspect", path, "--limit", "file-bytes=100")
        assert ended.code == 3
        assert f"given {size:,}, expected at most 100" in ended.line
        assert f"--limit file-bytes={size} raises it" in ended.line
        assert run_gradc("inspect", path, "--limit", f"file-bytes={size}").code == 0

    @pytest.mark.parametrize("run", [run_gradc, run_opt])
    def test_stdin(self, run):
        command = ("inspect",) if run is run_gradc else ()
        ended = run(*command, "-", "--limit", "file-bytes=100", stdin=b" " * 101)
        assert ended.code == 3
        assert "bytes of <stdin>" in ended.line

    def test_an_endless_one(self):
        ended = run_gradc("inspect", "/dev/zero", "--limit", "file-bytes=1K")
        assert ended.code == 3
        assert "the limit file-bytes" in ended.line

    def test_tunings(self, write):
        path = write(" " * 200, "tuning.json")
        graph = write(json.dumps(CONV), "graph.json")
        small = len(json.dumps(CONV)) - 1
        path.write_text(" " * (small + 10))
        ended = run_gradc("explain", graph, "--tuning-file", path, "--limit", f"file-bytes={small + 1}")
        assert ended.code == 3
        assert f"bytes of {path}" in ended.line

    def test_problems(self, write):
        ended = run_gradc("bench", write("#" * 101, "problems.txt"), "--limit", "file-bytes=100")
        assert ended.code == 3
        many = "conv_backward_data,f32,NCX," + ",".join(f"x{i}=1|2" for i in range(40))
        ended = run_gradc("bench", many)
        assert ended.code == 3
        assert "problems of one line" in ended.line

    def test_an_archive_that_unpacks_to_much(self, tmp_path: Path):
        path, graph = tmp_path / "w.npz", tmp_path / "graph.json"
        graph.write_text(json.dumps(CONV))
        np.savez_compressed(path, t1=np.zeros(10**6, np.float32))
        assert path.stat().st_size < 10**4
        given = ("compile", graph, "-o", tmp_path / "o.onnx", "--constants", path, "--limit", "npz-bytes=1M")
        ended = run_gradc(*given)
        assert ended.code == 3
        assert "--limit npz-bytes=4000" in ended.line

    def test_an_array_that_claims_much(self, tmp_path: Path):
        path, graph = tmp_path / "w.npz", tmp_path / "graph.json"
        graph.write_text(json.dumps(CONV))
        with zipfile.ZipFile(path, "w") as archive, archive.open("t1.npy", "w") as member:
            header = {"descr": "<f4", "fortran_order": False, "shape": (HUGE,)}
            np.lib.format.write_array_header_1_0(member, header)
        ended = run_gradc("compile", graph, "-o", tmp_path / "o.onnx", "--constants", path)
        assert ended.code == 4
        assert f'array "t1" of {path}: a shape [{HUGE}]' in ended.line


class TestNesting:
    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("g.json", "[" * 100_000),
            ("g.json", '{"a":' * 100_000),
            ("g.mlir", "func.func @main() attributes {a = " + "[" * 100_000),
            ("g.mlir", "func.func @main(%x: " + "tensor<" * 100_000),
            ("g.mlir", "module {" * 100_000),
            ("g.mlir", '"a.b"() ({' * 100_000),
        ],
    )
    def test_deep_texts(self, write, name: str, text: str):
        ended = run_gradc("inspect", write(text, name))
        assert ended.code == 3
        assert "nested too deeply" in ended.line
        assert "--limit nesting=65 raises it" in ended.line

    def test_can_be_raised(self, write):
        path = write("[" * 900 + "]" * 900, "g.json")
        assert "the limit nesting" in run_gradc("inspect", path).line
        ended = run_gradc("inspect", path, "--limit", "nesting=1000")
        assert ended.code == 4
        assert "nest" not in ended.line

    def test_brackets_in_words_and_remarks_are_none(self, write):
        text = convolution((1, 2, 5), (2, 3, 3))
        assert run_gradc("inspect", write("//" + "[" * 100 + "\n" + text)).code == 0
        named = text.replace("strides =", 'gradc.note = "' + "[" * 100 + '", strides =')
        assert "nested" not in run_gradc("inspect", write(named)).err


@pytest.mark.parametrize("command", ["compile", "run", "verify", "inspect", "explain", "bench", "reduce"])
def test_every_command_that_reads_a_graph_takes_limits(command: str):
    assert "--limit NAME=N" in run_gradc(command, "--help-all").out


def test_reduce_is_held_to_them(write):
    ended = run_gradc("reduce", write(convolution((1, 2, 5), (2, 3, 3))), "--limit", "ops=1")
    assert ended.code == 3
    assert "the limit ops" in ended.line


class TestLists:
    def test_a_list_of_an_mlir_text(self, write):
        path = write("func.func @main() { %c = arith.constant dense<[" + "1, " * 1000)
        ended = run_gradc("inspect", path, "--limit", "commas=999")
        assert ended.code == 3
        assert "--limit commas=1000 raises it" in ended.line
        assert 'dense<"0x..."> is read in one piece' in ended.line
        assert "commas" not in run_gradc("inspect", path, "--limit", "commas=1000").err

    def test_ops_are_counted_while_they_are_read(self, write):
        text = "func.func @main(%x: tensor<1xf32>) {\n" + "  %y = onnx.Abs %x : (tensor<1xf32>) -> 3\n" * 9
        ended = run_gradc("inspect", write(text), "--limit", "ops=1")
        assert ended.code == 3
        assert "ops of the graph: given 10, expected at most 1, the limit ops" in ended.line


class TestConstants:
    @pytest.mark.parametrize("value", ["0.0", '"0x00000000"'])
    def test_a_splat_of_a_claimed_size(self, write, value: str):
        text = f"""func.func @main(%x: tensor<4xf32>) -> tensor<{HUGE}xf32> {{
          %c = arith.constant dense<{value}> : tensor<{HUGE}xf32>
          return %c : tensor<{HUGE}xf32>
        }}"""
        for ended in (run_gradc("inspect", write(text)), run_opt(write(text))):
            assert ended.code == 3
            assert f"--limit constant-elements={HUGE} raises it" in ended.line

    @pytest.mark.parametrize(("value", "element"), [("7", "i64"), ("0.5", "f32"), ("true", "i1")])
    def test_a_splat_is_spread_in_one_piece(self, value: str, element: str):
        """Of 16 million elements: one by one they take ten seconds."""
        kind, started = f"tensor<{2**24}x{element}>", time.process_time()
        constant = f"%c = arith.constant dense<{value}> : {kind}"
        text = f"func.func @main() -> {kind} {{ {constant} return %c : {kind} }}"
        module = import_text(text, "mlir", "graph.mlir")
        assert time.process_time() - started < 2
        (splat,) = (op.value for op in module.walk() if op.name == "arith.constant")
        assert splat.type.get_shape() == (2**24,)
        assert (dense.to_numpy(splat)[::1000] == json.loads(value)).all()

    @pytest.mark.parametrize(
        ("op", "first", "second", "result"),
        [
            ("MatMul", "2000x2000", "2000x2000", "2000x2000"),
            ("Conv", "1x1x100000", "1x1x50000", "1x1x50001"),
        ],
    )
    def test_a_product_that_takes_long_is_left_to_the_runtime(self, write, op, first, second, result):
        """Two splats are a line of text."""
        kinds = [f"tensor<{shape}xf32>" for shape in (first, second, result)]
        text = f"""func.func @main(%x: {kinds[2]}) -> {kinds[2]} {{
          %a = onnx.Constant dense<1.0> : {kinds[0]}
          %b = onnx.Constant dense<2.0> : {kinds[1]}
          %c = onnx.{op} %a, %b : ({kinds[0]}, {kinds[1]}) -> {kinds[2]}
          %d = onnx.Add %c, %x : ({kinds[2]}, {kinds[2]}) -> {kinds[2]}
          return %d : {kinds[2]}
        }}"""
        nodes = {node.op_type for node in gradc.compile(write(text)).model.graph.node}
        assert nodes == {op, "Add"}
        small = text.replace("000", "")
        assert {node.op_type for node in gradc.compile(write(small)).model.graph.node} == {"Add"}


CLAIMS = {
    "resize": interpolation((1, 1, HUGE), (1, 1, HUGE // 2)),
    "resize-2d": interpolation((1, 1, 10**6, 10**6), (1, 1, 10**6 - 1, 3)),
    "resize-nxc": interpolation((1, HUGE, 3), (1, HUGE * 3, 3), "nearest", "NXC"),
    "conv": convolution((1, 1, HUGE), (1, 1, 3)),
    "conv-stride": convolution((1, 1, HUGE), (1, 1, 3), stride=2),
    "conv-nxc": convolution((HUGE, 5, 2), (2, 2, 3), stride=2, layout="NXC"),
    "weights": convolution((1, 2**20, 4), (2**20, 2**20, 3)),
    "dilation": convolution((1, 1, 3), (1, 1, 3), dilation=2**31),
    "dilation-63": convolution((1, 1, 3), (1, 1, 3), dilation=2**60),
    "stride-63": convolution((1, 1, 2), (1, 1, 3), stride=2**61),
}


@pytest.mark.parametrize("text", CLAIMS.values(), ids=CLAIMS)
class TestClaimedShapes:
    """Nothing is allocated: each takes what a small graph takes, or the limit is named."""

    @pytest.mark.sweep(parts=1)
    def test_every_strategy(self, text: str, write):
        for name in some(by_name()):
            module = load(write(text))
            with contextlib.suppress(UnsupportedError):
                lower(module, Options(strategy=name))

    @pytest.mark.sweep(entries=r"\w+")
    @pytest.mark.parametrize("command", ["inspect", "explain"])
    def test_are_shown(self, text: str, command: str, write):
        assert run_gradc(command, write(text)).code == 0

    @pytest.mark.sweep(entries=r"\w+")
    @pytest.mark.parametrize("command", ["run", "verify"])
    def test_are_not_run(self, text: str, command: str, write):
        ended = run_gradc(command, write(text))
        assert ended.code == 3
        assert "--limit" in ended.err


class TestReference:
    """numpy goes through a kernel tap by tap, which takes minutes where there are millions."""

    def test_many_taps(self):
        taps = np.zeros((1, 1, 2**20 + 1), np.float32)
        with pytest.raises(LimitError, match=r"so far: given 8,589,942,784, .*reference_reads=8589942784"):
            conv_backward_data(taps[..., :3], taps, [2**20 + 3], [1], [1], [0], 1)

    @pytest.mark.parametrize(
        "op",
        [
            "onnx.AveragePool %x {{kernel_shape = [3]}} : ({0}) -> {1}",
            "onnx.LpPool %x {{kernel_shape = [3]}} : ({0}) -> {1}",
            "onnx.Conv %x, %w : ({0}, tensor<1x1x3xf32>) -> {1}",
        ],
    )
    def test_every_window_asks(self, write, op: str):
        types = "tensor<1x1x5xf32>", "tensor<1x1x3xf32>"
        path = write(f"""func.func @main(%x: {types[0]}, %w: {types[1]}) -> {types[1]} {{
          %y = {op.format(*types)}
          return %y : {types[1]}
        }}""")
        ended, raised = run_gradc("verify", path, "--limit", "reference-reads=1"), 1
        assert ended.code == 3
        while found := re.search(r"--limit reference-reads=(\d+) raises it", ended.err):
            raised = int(found[1])
            ended = run_gradc("verify", path, "--limit", f"reference-reads={raised}")
        assert ended.code == 0
        assert raised > 3 * account.LEAST
        ended = run_gradc("verify", path, "--limit", f"reference-reads={raised - 1}")
        assert ended.code == 3
        assert "the limit reference-reads" in ended.line


@pytest.mark.parametrize("dims", [f"{2**62}x2", f"{2**63 - 1}", f"{2**70}", "1000000x" * 4 + "4"])
def test_sizes_beyond_64_bits(dims: str, write):
    kind = f"tensor<1x1x{dims}xf32>"
    ended = run_gradc("inspect", write(f"func.func @main(%x: {kind}) -> {kind} {{ return %x : {kind} }}"))
    assert ended.code == 4


class TestWhatStrategiesBuild:
    def test_a_matrix_beyond_the_data_is_refused(self, write):
        path = write(interpolation((1, 1, 3000), (1, 1, 5001)))
        ended = run_gradc("compile", path, "-o", "/dev/null", "--strategy", "resize-to-matmul")
        assert ended.code == 3
        assert "elements of constants that it builds, 15,003,000, as a multiple" in ended.line
        assert "--limit constant-growth=1876 raises it" in ended.line
        raised = ("--limit", "constant-growth=1876", "--strategy", "resize-to-matmul")
        assert run_gradc("compile", path, "-o", "/dev/null", *raised).code == 0
        assert "elements of constants" in run_gradc("explain", path).out

    def test_another_form_is_chosen(self, write):
        """Of a period, of none, of a few positions read, of many."""
        sizes = ((3000, 5000), (3000, 5001), (5001, 3000), (11, 100_003), (100_003, 11), (40_009, 200_003))
        for x, y in sizes:
            module = load(write(interpolation((1, 1, x), (1, 1, y))))
            lower(module, Options())
            largest = max(_constants(module))
            assert largest <= max(2**20, 8 * (x + y))

    def test_parts_of_a_stride_are_counted(self, write):
        path = write(convolution((1, 1, 2, 2), (1, 1, 60, 60), stride=50))
        ended = run_gradc("compile", path, "-o", "/dev/null", "--strategy", "conv-to-phase-convs")
        assert ended.code == 3
        assert "nodes that it writes: given 25,020, expected at most 10,000, the limit nodes" in ended.line

    def test_a_limit_holds_for_one_call(self, write):
        """Candidates that are remembered are those of the limits."""
        path = write(interpolation((1, 1, 30), (1, 1, 70)))
        options = {"strategy": "resize-to-matmul"}
        gradc.compile(path, **options)
        with pytest.raises(GradcError, match="the limit constant-elements"):
            gradc.compile(path, limits=Limits(constant_elements=50))
        gradc.compile(path)


class TestPositions:
    """Of a resized axis nothing is computed per position beyond the limit, and never all at once."""

    SIZES = ((3, 2), (2, 3), (1, 40), (40, 1), (41, 40), (40, 41), (20, 40), (40, 20), (3, 40), (40, 3))

    @pytest.fixture
    def lengths_built(self, monkeypatch: pytest.MonkeyPatch) -> list[tuple[AxisSampling, int]]:
        """The samplings of which positions are looked at, and of how many at once."""
        lengths_built = []

        def watch(name: str, length) -> None:
            original = getattr(AxisSampling, name)

            def watched(sampling, *given):
                lengths_built.append((sampling, length(sampling, *given)))
                return original(sampling, *given)

            monkeypatch.setattr(AxisSampling, name, watched)

        watch("taps", lambda sampling, rows=None: sampling.y if rows is None else len(rows))
        watch("readers", lambda sampling, columns: len(columns))
        return lengths_built

    @pytest.mark.parametrize("mode", ["linear", "nearest"])
    def test_none_beyond_the_limit(self, mode: str, lengths_built):
        for x, y in self.SIZES:
            for most in (max(x, y), max(x, y) - 1):
                lengths_built.clear()
                with limits.using(Limits(axis_positions=most)):
                    _explored(interpolation((1, 2, x, 3), (1, 2, y, 3), mode))
                # what repeats is told by a few periods, which are other axes
                whole = [sampling for sampling, _ in lengths_built if (sampling.x, sampling.y) == (x, y)]
                assert bool(whole) == (most == max(x, y))

    @pytest.mark.parametrize("mode", ["linear", "nearest"])
    def test_a_part_at_a_time(self, mode: str, lengths_built, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(sampling_of_axes, "PART", 7)
        for x, y in self.SIZES:
            _explored(interpolation((1, 2, x, 3), (1, 2, y, 3), mode))
        assert max(count for _, count in lengths_built) == 7

    def test_the_limit_is_named(self, write):
        path = write(interpolation((1, 1, 40), (1, 1, 41)))
        ended = run_gradc("compile", path, "-o", "/dev/null", "--limit", "axis-positions=40")
        assert ended.code == 3
        assert "positions of an axis: given 41, expected at most 40, the limit axis-positions" in ended.line
        assert run_gradc("compile", path, "-o", "/dev/null", "--limit", "axis-positions=41").code == 0


def _explored(text: str) -> None:
    """Every strategy asked, and those that apply written."""
    for target in (Target.of("cpu"), Target.of("cpu", strict_ieee=True)):
        module = import_text(text, "mlir", "graph.mlir")
        to_gradients(module, Options(strict_ieee=target.strict_ieee))
        (op,) = (op for op in module.walk() if isinstance(op, ResizeBackwardOp))
        for strategy in by_name().values():
            if isinstance(op, strategy.ops) and strategy.refusal(op, target) is None:
                strategy.write(op, target, OpBuilder())


def _constants(module) -> list[int]:
    return [op.output.type.element_count() for op in module.walk() if op.name == "onnx.Constant"]


class TestSamplings:
    @pytest.mark.parametrize("interpolation", ["linear", "nearest_floor"])
    @pytest.mark.parametrize("scale", [1e-7, 0.003, 0.7, 1.3, 250.0])
    @pytest.mark.parametrize("coordinates", ["half_pixel", "corner"])
    def test_a_step_past_the_end(self, interpolation: str, scale: float, coordinates: str):
        """Coordinates beyond the input are those of its end, and no product overflows before."""
        sampling = AxisSampling(9, 31, scale_step(scale), interpolation, coordinates)
        axis = Axis(1, 9, scale_coordinate(coordinates, scale), interpolation)
        np.testing.assert_allclose(sampling.matrix(), resize_backward(np.eye(31), [axis]), atol=1e-6)
        lower, upper, _ = AxisSampling(9, 3 * 10**6, scale_step(scale), interpolation, coordinates).taps()
        assert (np.diff(lower) >= 0).all()
        assert (np.diff(upper) >= 0).all()

    @pytest.mark.parametrize(("x", "y"), [(1, 7), (7, 1), (5, 12), (12, 5), (9, 9), (40, 97)])
    def test_bands_and_tables_are_the_matrix(self, x: int, y: int):
        sampling = AxisSampling(x, y, scale_step(y / x), "linear", "half_pixel")
        matrix = sampling.matrix()
        positions, weights = tables(sampling)
        assert positions.shape == (most_taps(sampling), x)
        gathered = np.zeros((y, x))
        np.add.at(gathered, (positions, np.arange(x)), weights)
        np.testing.assert_array_equal(gathered, matrix)
        for block in blocks(sampling, min(x, 4)):
            part = matrix[:, block.columns.start : block.columns.stop].copy()
            part[block.rows.start : block.rows.stop] = 0
            assert not part.any()
