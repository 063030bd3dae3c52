"""What can be watched while the pipeline runs."""

import re

import numpy as np
import pytest
from support.cli import run_gradc
from support.documents import CONV, INTERPOLATE, RESIZE, text_of, two_convolutions

from dialects.grad.conv import ConvBackwardDataOp
from dialects.support.entry import return_op
from gradc.graph.printing import elided_text, module_text
from gradc.inspection.observe import Observers, PrintIR
from passes.infer_types import InferTypesPass
from passes.lower_onednn import LowerOneDNNPass

PASSES = 19


@pytest.fixture(params=["conv", "two", "interpolate", "resize"])
def document(request, tmp_path):
    documents = {"conv": CONV, "two": two_convolutions(), "interpolate": INTERPOLATE, "resize": RESIZE}
    path = tmp_path / "graph.json"
    path.write_text(text_of(documents[request.param]), encoding="utf-8")
    return path


@pytest.fixture
def conv(tmp_path):
    path = tmp_path / "conv.json"
    path.write_text(text_of(CONV), encoding="utf-8")
    return path


def broken(monkeypatch, change):
    """A conversion that changes every convolution's gradient by `change` afterwards."""
    apply = LowerOneDNNPass.apply

    def apply_and_change(self, ctx, op):
        apply(self, ctx, op)
        for inner in list(op.walk()):
            if isinstance(inner, ConvBackwardDataOp):
                change(inner)

    monkeypatch.setattr(LowerOneDNNPass, "apply", apply_and_change)


class TestCheck:
    def test_every_pass_of_a_right_compiler_passes(self, document, tmp_path):
        result = run_gradc("compile", document, "-o", tmp_path / "out.onnx", "--check")
        assert result.code == 0
        lines = [line for line in result.err.splitlines() if line.startswith("check: ")]
        assert len(lines) == PASSES
        assert all("keeps the meaning" in line for line in lines)

    def test_a_pass_that_changes_the_meaning(self, conv, tmp_path, monkeypatch):
        def shift_pads(op):
            pads = {name: op.value(name) for name in ("pads_begin", "pads_end")}
            for name in pads:
                spec = type(op).get_irdl_definition().properties[name].constr
                op.properties[name] = spec.encode(_rolled(pads[name], name))

        broken(monkeypatch, shift_pads)
        out = tmp_path / "out.onnx"
        result = run_gradc("compile", conv, "-o", out, "--check")
        assert result.code == 1
        assert not out.exists()
        last = result.err.splitlines()[-1]
        assert re.fullmatch(
            r"error: pass lower-onednn changed the meaning of the graph: output t2 is off by \S+ "
            r"of its largest magnitude, expected at most 3e-05",
            last,
        )
        assert run_gradc("compile", conv, "-o", out).code == 0

    def test_a_pass_that_makes_nan(self, conv, tmp_path, monkeypatch):
        ones = np.ones((1, 2, 5, 5), np.float32)
        results = iter([(ones,), (ones * np.float32(np.nan),)])
        monkeypatch.setattr("gradc.inspection.check_passes.reference", lambda *_: next(results))
        result = run_gradc("compile", conv, "-o", tmp_path / "out.onnx", "--check")
        assert result.code == 1
        assert "pass materialize-constants changed the meaning" in result.line
        assert "off by inf" in result.line


def _rolled(pads, name):
    return [pad + (1 if name == "pads_begin" else -1) for pad in pads]


class TestPrintIR:
    def test_after_all(self, document, tmp_path):
        result = run_gradc("compile", document, "-o", tmp_path / "out.onnx", "--print-ir-after-all")
        heads = re.findall(r"^// ----- IR after (.*) -----$", result.err, re.MULTILINE)
        assert len(heads) == PASSES
        assert heads[0] == "materialize-constants"
        assert heads[-1] == "legalize-onnx"
        assert result.out == ""

    def test_after_change_is_the_subset_that_differs(self, document, tmp_path):
        def sections(flag):
            result = run_gradc("compile", document, "-q", "-o", tmp_path / "out.onnx", flag)
            return re.split(r"^// ----- IR after ", result.err, flags=re.MULTILINE)[1:]

        everything, changes = sections("--print-ir-after-all"), sections("--print-ir-after-change")
        assert 0 < len(changes) < len(everything)
        texts = [section.partition("\n")[2] for section in everything]
        differ = [everything[i] for i in range(1, len(everything)) if texts[i] != texts[i - 1]]
        assert changes in (differ, [everything[0], *differ])

    def test_both_flags_are_all(self, conv, tmp_path):
        arguments = ("compile", conv, "-o", tmp_path / "out.onnx", "--print-ir-after-all")
        assert run_gradc(*arguments, "--print-ir-after-change").err == run_gradc(*arguments).err

    def test_large_constants_are_elided(self, conv, tmp_path):
        np.savez(tmp_path / "w.npz", t1=np.ones((4, 2, 3, 3), np.float32))
        options = ("--constants", tmp_path / "w.npz", "--print-ir-after-all")
        result = run_gradc("compile", conv, "-o", tmp_path / "out.onnx", *options)
        assert "dense<...>" in result.err

    def test_an_unchanged_module_is_not_said_again(self):
        from gradc.compiler.driver import load
        from gradc.compiler.pass_runner import Stage

        message = []
        module = load(CONV)
        printer = PrintIR(message.append, only_changes=True)
        watch = Observers()
        watch.add(printer)
        watch(Stage(module))
        watch(Stage(module, InferTypesPass()))
        assert message == []
        (function,) = module.ops
        return_op(function).detach()
        watch(Stage(module, InferTypesPass()))
        assert len(message) == 1


class TestTiming:
    def test_a_row_per_pass_and_the_total(self, conv, tmp_path):
        result = run_gradc("compile", conv, "-o", tmp_path / "out.onnx", "--timing")
        header, *rows = [line.split() for line in result.lines]
        assert header == ["pass", "time"]
        assert len(rows) == PASSES + 1
        assert all(unit == "ms" for *_, unit in rows)
        *passes, total = [float(row[1]) for row in rows]
        assert rows[-1][0] == "total"
        assert total == pytest.approx(sum(passes), abs=0.1)


class TestText:
    def test_whole_is_read_back_and_elided_is_short(self):
        from xdsl.parser import Parser

        import dialects
        from gradc.compiler.driver import load
        from gradc.graph.constants import bind_constants

        module = load(CONV)
        bind_constants(module, {"t1": np.arange(72, dtype=np.float32).reshape(4, 2, 3, 3)})
        text = module_text(module)
        assert module_text(Parser(dialects.context(), text).parse_module()) == text
        assert len(elided_text(module)) < len(text)
        assert "dense<...> : tensor<4x2x3x3xf32>" in elided_text(module)
