"""`gradc reduce`: injected faults are found in large graphs, and what is left shows them still."""

import shlex
import sys
import tempfile
from itertools import combinations

import numpy as np
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cli import run_gradc, run_opt
from support.documents import CONV, INTERPOLATE, RESIZE, UPSAMPLE, attrs, changed, text_of

import gradc
from dialects.grad.conv import ConvBackwardDataOp
from dialects.onnx import ops as onnx
from dialects.support.shapes import shape_of
from gradc.compiler.driver import load
from gradc.graph.printing import module_text
from gradc.model import exporter
from gradc.reduction import graphs, search
from gradc.reduction.ddmin import minimal
from gradc.reduction.replay import module_of
from passes.builder.rewrite_cache import templates
from passes.legalize_onnx import LegalizeOnnxPass
from passes.strategies.conv.conv_to_conv import ConvToConv

FORMATS = {"data_format": "NCX", "weights_format": "OIX"}


def decoder(stages: int, odd: int, **special) -> gradc.Graph:
    """`stages` convolutions and resizes by turns, an output after each resize. Of stage `odd` the
    convolution has the special attributes."""
    g = gradc.Graph()
    value = g.input("dy", "f32", [2, 8, 16, 16])
    for stage in range(stages):
        weights = g.input(f"w{stage}", "f32", [8, 8, 3, 3])
        dilation = special["dilations"][0] if stage == odd else 1
        window = {"strides": [1, 1], "dilations": [dilation] * 2}
        pads = {"pads_begin": [dilation] * 2, "pads_end": [dilation] * 2}
        value = g.convolution_backward_data(value, weights, (2, 8, 16, 16), **window, **pads, **FORMATS)
        src = g.input(f"s{stage}", "f32", [2, 8, 16, 16])
        value = g.interpolate_backward(src, value, [16, 16], mode="linear", data_format="NCX")
        g.output(value, f"dx{stage}")
    return g


@pytest.fixture
def big(tmp_path):
    """24 ops, of which one convolution is dilated."""
    path = tmp_path / "big.mlir"
    path.write_text(module_text(decoder(12, odd=7, dilations=[2]).module()), encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def crashes(tmp_path, monkeypatch):
    found = tmp_path / "crashes"
    found.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(found))
    return found


def fail_where(cls, condition, monkeypatch):
    """A pass fails on every module in which the condition holds for a convolution."""
    right = cls.apply

    def apply(self, ctx, op):
        if any(condition(inner) for inner in op.walk() if isinstance(inner, ConvBackwardDataOp)):
            raise ValueError("no such luck")
        right(self, ctx, op)

    monkeypatch.setattr(cls, "apply", apply)


def is_dilated(op) -> bool:
    return max(op.value("dilations")) > 1


def reduced(*args) -> tuple[str, list[str]]:
    """The text on stdout, and the lines on stderr."""
    result = run_gradc("reduce", *args)
    assert result.code == 0, result.err
    return result.out, result.err.splitlines()


def wrong_where(condition, monkeypatch):
    """conv-to-conv negates what it writes for the convolutions for which the condition holds."""
    right = ConvToConv.emit

    def emit(self, op, target, emit):
        value = right(self, op, target, emit)
        return emit(onnx.NegOp(value)) if condition(op) else value

    monkeypatch.setattr(ConvToConv, "emit", emit)
    monkeypatch.setattr("passes.strategies.base._written", templates())  # what the right one wrote


class TestCrashes:
    @pytest.fixture(autouse=True)
    def fault(self, monkeypatch):
        from passes.select_strategy import SelectStrategyPass

        fail_where(SelectStrategyPass, is_dilated, monkeypatch)

    def test_a_graph(self, big, crashes):
        text, lines = reduced(big)
        step = "internal error in pass select-strategy: ValueError: no such luck"
        assert lines[0] == f"{big}: {step}"
        assert lines[1].startswith("24 ops on ")
        assert " -> 1 op on " in lines[1]
        (op,) = graphs.operations(module_of(text, "small"))
        assert sorted(op.value("dilations")) == [1, 2]
        assert set(op.value("pads_begin")) == {0}
        assert graphs.size(module_of(text, "small")) == 2
        assert list(crashes.iterdir()) == []

    def test_the_result_is_a_reproducer(self, big, tmp_path, monkeypatch):
        small = tmp_path / "small.mlir"
        assert reduced(big, "-o", small)[0] == ""
        replayed = run_opt("--replay", small)
        assert replayed.code == 70
        assert replayed.err.splitlines()[-1].startswith("reproduced: internal error in pass select-strategy")
        assert run_gradc("compile", small, "-o", tmp_path / "m.onnx").code == 70
        _, lines = reduced(small)
        assert " -> 1 op on 2 elements" in lines[-1]
        monkeypatch.undo()
        assert run_opt("--replay", small).code == 0
        assert run_gradc("compile", small, "-o", tmp_path / "m.onnx").code == 0

    def test_a_reproducer_from_the_middle_of_the_pipeline(self, big, crashes):
        with pytest.raises(gradc.InternalError):
            gradc.compile(big)
        (file,) = crashes.iterdir()
        text, lines = reduced(file)
        (op,) = graphs.operations(module_of(text, "small"))
        assert isinstance(op, ConvBackwardDataOp)
        assert " -> 1 op on 2 elements" in lines[-1]

    def test_passes(self, big):
        text, lines = reduced(big, "-p", "lower{target=cuda}")
        assert "in pass select-strategy" in lines[0]
        assert len(graphs.operations(module_of(text, "small"))) == 1

    def test_the_same_file_every_time(self, big):
        assert reduced(big)[0] == reduced(big)[0]

    def test_a_limit_on_the_tests(self, big):
        text, lines = reduced(big, "--tests", 3)
        assert lines[-1] == "stopped after 3 tests (--tests)"
        assert lines[-2].endswith(", 3 tests")
        assert 1 < len(graphs.operations(module_of(text, "small"))) < 24

    def test_constants_become_inputs(self, tmp_path, big):
        weights = {f"w{stage}": np.ones((8, 8, 3, 3), np.float32) for stage in range(12)}
        np.savez(tmp_path / "w.npz", **weights)
        text, _ = reduced(big, "--constants", tmp_path / "w.npz")
        assert graphs.constants(module_of(text, "small")) == []


class TestOtherSteps:
    def test_another_fault_on_the_way_is_not_taken(self, big, monkeypatch):
        """Small convolutions fail elsewhere: those are not the fault that is looked for."""
        fail_where(LegalizeOnnxPass, lambda op: False, monkeypatch)
        right = LegalizeOnnxPass.apply

        def apply(self, ctx, op):
            convolutions = [o for o in op.walk() if isinstance(o, onnx.ConvOp)]
            if any(min(shape_of(o.results[0])[2:]) < 4 for o in convolutions):
                raise KeyError("another one")
            if any(tuple(o.onnx_attributes().get("dilations", ())) == (2, 2) for o in convolutions):
                raise ValueError("no such luck")
            right(self, ctx, op)

        monkeypatch.setattr(LegalizeOnnxPass, "apply", apply)
        text, lines = reduced(big, "--strategy", "conv-to-conv")
        assert "ValueError" in lines[0]
        (op,) = graphs.operations(module_of(text, "small"))
        assert min(shape_of(op.results[0])[2:]) in (4, 5)

    def test_the_exporter(self, big, monkeypatch):
        right = exporter.check

        def check(model, **given):
            if any(
                a.name == "dilations" and max(a.ints) > 1 for n in model.proto.graph.node for a in n.attribute
            ):
                raise AssertionError("the exported model is not valid")
            right(model, **given)

        monkeypatch.setattr(exporter, "check", check)
        text, lines = reduced(big, "--strategy", "conv-to-conv")
        assert lines[0].endswith(
            "internal error in the exporter: AssertionError: the exported model is not valid"
        )
        assert len(graphs.operations(module_of(text, "small"))) == 1

    def test_onnxruntime_refuses_a_model(self, big, monkeypatch):
        right = onnxruntime.InferenceSession

        def refuse(model, *args, **kwargs):
            if b"dilations" in model and b"\x40\x02\x40\x02" in model:
                raise RuntimeError("no")
            return right(model, *args, **kwargs)

        monkeypatch.setattr(onnxruntime, "InferenceSession", refuse)
        text, lines = reduced(big, "--strategy", "conv-to-conv")
        assert "internal error in onnxruntime, which refuses the model: RuntimeError: no" in lines[0]
        assert len(graphs.operations(module_of(text, "small"))) == 1


class TestWrongNumbers:
    def test_a_strategy_that_is_wrong(self, big, monkeypatch, tmp_path):
        wrong_where(is_dilated, monkeypatch)
        small = tmp_path / "small.mlir"
        _, lines = reduced(big, "--strategy", "conv-to-conv", "--seed", 3, "-o", small)
        assert lines[0] == f"{big}: wrong numbers by gradc verify"
        text = small.read_text(encoding="utf-8")
        (op,) = graphs.operations(module_of(text, "small"))
        assert sorted(op.value("dilations")) == [1, 2]
        (command,) = (line for line in text.splitlines() if line.startswith("// wrong numbers: gradc "))
        words = shlex.split(command.removeprefix("// wrong numbers: gradc ").replace("THIS_FILE", str(small)))
        assert words == ["verify", str(small), "--seed", "3", "--strategy", "conv-to-conv"]
        failed = run_gradc(*words)
        assert (failed.code, "FAILED" in failed.out) == (1, True)
        monkeypatch.undo()
        assert run_gradc(*words).code == 0

    def test_the_smallest_size_that_is_wrong(self, tmp_path, monkeypatch):
        wrong_where(lambda op: op.value("groups") == 1 and shape_of(op.weights)[1] > 2, monkeypatch)
        path = tmp_path / "g.mlir"
        path.write_text(module_text(decoder(3, odd=-1).module()), encoding="utf-8")
        text, _ = reduced(path, "--strategy", "conv-to-conv")
        (op,) = graphs.operations(module_of(text, "small"))
        assert shape_of(op.operands[0]) == (1, 1, 1, 1)
        assert shape_of(op.operands[1]) == (1, 3, 1, 1)

    def test_an_internal_error_is_another_failure(self, tmp_path, monkeypatch, crashes):
        wrong_where(is_dilated, monkeypatch)
        fail_where(LegalizeOnnxPass, lambda op: False, monkeypatch)
        path = tmp_path / "g.mlir"
        path.write_text(module_text(decoder(2, odd=1, dilations=[2]).module()), encoding="utf-8")
        right = ConvToConv.emit

        def emit(self, op, target, emit):
            if shape_of(op.diff_dst)[1] == 1:
                raise KeyError("one channel")
            return right(self, op, target, emit)

        monkeypatch.setattr(ConvToConv, "emit", emit)
        text, _ = reduced(path, "--strategy", "conv-to-conv")
        (op,) = graphs.operations(module_of(text, "small"))
        assert shape_of(op.operands[0])[1] == 2
        assert list(crashes.iterdir()) == []


def command(script: str) -> str:
    """A command that runs Python on the text of a file, and ends with 0 where it gives something true."""
    program = f"import sys; text = open(sys.argv[1]).read(); sys.exit(not ({script}))"
    return f"{shlex.join([sys.executable, '-S', '-c', program])} {{}}"


class TestCommands:
    def test_a_command(self, tmp_path):
        path = tmp_path / "g.mlir"
        path.write_text(module_text(decoder(2, odd=-1).module()), encoding="utf-8")
        text, lines = reduced(
            path, "--interesting", command("'interpolate' in text and 'onednn.conv' in text")
        )
        assert len(graphs.operations(module_of(text, "small"))) == 2
        assert text.startswith("// interesting: ")
        assert " THIS_FILE\n" in text
        assert "exits with code 0" in lines[0]

    def test_reproducers(self, tmp_path, crashes, monkeypatch):
        with monkeypatch.context() as patch:
            fail_where(LegalizeOnnxPass, lambda op: False, patch)
            patch.setattr(LegalizeOnnxPass, "apply", lambda *_: {}["key"])
            with pytest.raises(gradc.InternalError):
                gradc.compile(CONV, strategy="conv-to-matmul")
        (file,) = crashes.iterdir()
        text, _ = reduced(file, "--interesting", command("'onnx.MatMul' in text"))
        assert [op.name for op in graphs.operations(module_of(text, "small"))] == ["onnx.MatMul"]

    REFUSED = (
        (["--interesting", "true"], 2, "--interesting: given true, expected a command with {}"),
        (["--interesting", "'{}"], 2, "No closing quotation"),
        (["--interesting", "/no/such/command {}"], 2, "cannot run /no/such/command {}: No such file"),
        (["--interesting", command("False")], 4, "is not interesting: exit code of"),
        (["--interesting", "sleep 10 {}", "--seconds", "0.1"], 4, "is not interesting"),
        (["-p", "infer-types"], 4, "does not fail with -p infer-types: nothing to reduce"),
        (["-p", "no-such-pass"], 2, "no pass no-such-pass"),
        ([], 4, "does not fail with gradc verify: nothing to reduce; --interesting 'COMMAND {}'"),
        (["--strategy", "resize-to-matmul", "--opset", "3"], 2, "--opset: given 3"),
    )

    @pytest.mark.parametrize(("arguments", "code", "message"), REFUSED)
    def test_refused(self, arguments, code, message, tmp_path):
        path = tmp_path / "g.json"
        path.write_text(text_of(CONV), encoding="utf-8")
        result = run_gradc("reduce", path, *arguments)
        assert (result.code, result.out) == (code, "")
        assert message in result.line

    def test_faults_of_the_importer(self, tmp_path, monkeypatch, crashes):
        monkeypatch.setattr("gradc.importers.onednn.reader._producers", lambda *_: {}["key"])
        path = tmp_path / "g.json"
        path.write_text(text_of(CONV), encoding="utf-8")
        assert run_gradc("reduce", path).code == 70
        (file,) = crashes.iterdir()
        result = run_gradc("reduce", file)
        assert result.code == 4
        assert "fails in the importer: there is no graph" in result.line

    def test_missing_file(self):
        result = run_gradc("reduce", "none.mlir")
        assert (result.code, result.line) == (4, "error: cannot read none.mlir: No such file or directory")


DOCUMENTS = {
    "conv": CONV,
    "same": changed(CONV, attrs(auto_pad="same_upper", auto_pad_rule="documented")),
    "interpolate": INTERPOLATE,
    "scales": changed(INTERPOLATE, attrs(scales=[2.0, 2.0])),
    "resize": RESIZE,
    "upsample": UPSAMPLE,
}


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_every_op_gets_as_small_as_it_can(document):
    """Whatever is legal is interesting: one element per input is left."""
    found = search.Search(load(document), lambda module: True, 1000).run()
    assert [shape_of(a) for a in graphs.operations(found)[0].operands] == [(1, 1, 1, 1)] * len(
        graphs.operations(found)[0].operands
    )
    compiled = gradc.compile(found)
    assert set(compiled.session().run({i.name: np.ones(i.shape, np.float32) for i in compiled.inputs}))


def test_every_tested_module_is_legal(monkeypatch):
    seen = []

    def interesting(module):
        seen.append(module)
        module.verify()
        return len(seen) % 3 == 0

    search.Search(decoder(3, odd=1, dilations=[2]).module(), interesting, 60).run()
    assert 20 < len(seen) <= 60


class TestMinimal:
    @given(st.sets(st.integers(0, 40), min_size=1), st.integers(41, 60))
    def test_finds_what_is_needed(self, needed, count):
        assert minimal(range(count), lambda kept: needed <= set(kept)) == sorted(needed)

    @given(st.integers(2, 12), st.integers(0, 2**32))
    def test_nothing_can_be_left_out(self, count, seed):
        rng = np.random.default_rng(seed)
        sets = [c for size in range(1, count) for c in combinations(range(count), size)]
        holding = {tuple(range(count)), *(sets[i] for i in rng.integers(0, len(sets), 20))}
        found = minimal(range(count), lambda kept: tuple(kept) in holding)
        assert tuple(found) in holding
        assert not any((*found[:i], *found[i + 1 :]) in holding for i in range(len(found)))

    def test_few_tests_for_one_of_many(self):
        request = []
        assert minimal(range(1000), lambda kept: request.append(kept) or 617 in kept) == [617]
        assert len(request) < 60
        assert all(request)
