"""What a report knows of a graph, and what it says where a part cannot be had."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx.parser
import pytest
from support.cli import run_gradc
from support.documents import CONV, attrs, changed, text_of
from support.reports import chain
from support.tuning import Bench

import gradc
from dialects.support.diagnostics import Diagnostic
from gradc.reporting import running, watching
from gradc.reporting.data import GradientCheck, Missing, Model, Run, as_json
from gradc.reporting.report import Report
from gradc.runtime import session as runtime
from gradc.runtime.session import Session
from gradc.tuning import request
from gradc.tuning.stores import FOLDER_VARIABLE
from passes.autodiff import vjp

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"
CONV_MLIR = EXAMPLES / "conv_backward.mlir"


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "cache"))


def model(report: Report) -> Model:
    assert isinstance(report.model, Model)
    return report.model


def ran(report: Report) -> Run:
    assert isinstance(report.run, Run), report.run
    return report.run


def why(part: Any) -> str:
    assert isinstance(part, Missing)
    return part.why


class TestCompiled:
    def test_what_went_in_and_came_out(self):
        found = gradc.report(CONV_MLIR)
        assert found.ok
        assert found.title == "conv_backward.mlir"
        assert found.ops == {"ConvolutionBackwardData": 1}
        assert [str(info) for info in model(found).inputs] == [
            "diff_dst: f32 [1, 14, 14, 64]",
            "weights: f32 [3, 3, 32, 64]",
        ]
        compiled = gradc.compile(CONV_MLIR)
        nodes = [node for node in compiled.model.graph.node if node.op_type != "Constant"]
        assert sum(model(found).nodes.values()) == len(nodes)
        assert model(found).size == len(compiled.model.SerializeToString())

    def test_remarks_have_their_lines(self):
        found = gradc.report(str(CONV_MLIR))
        assert [r.diagnostic for r in found.remarks] == list(gradc.compile(str(CONV_MLIR)).remarks)
        for remark in found.remarks:
            line, caret = remark.quote.splitlines()
            assert line == "    4 |   %diff_src = onednn.convolution_backward_data %diff_dst, %weights {"
            assert caret == "      |   ^~~~~~~~~"

    def test_a_text_that_claims_to_be_of_another_file_shows_nothing_of_it(self, tmp_path):
        secret = tmp_path / "secret"
        secret.write_text("line that is nobody's business\n" * 9)
        text = CONV_MLIR.read_text().replace(
            "-> tensor<1x28x28x32xf32>\n  func", f'-> tensor<1x28x28x32xf32> loc("{secret}":2:1)\n  func'
        )
        path = tmp_path / "graph.mlir"
        path.write_text(text)
        found = gradc.report(path, auto_pad_rule="documented")
        assert found.remarks
        assert not any("nobody" in remark.quote for remark in found.remarks)

    def test_passes_that_change_nothing_have_no_lines(self):
        found = gradc.report(CONV_MLIR, run=False)
        assert not isinstance(found.passes, Missing)
        assert found.passes[0].name == watching.READ
        for record in found.passes:
            assert bool(record.lines) == record.changed
        changed = {record.name for record in found.passes if record.changed}
        assert {"resolve-auto-pad", "lower-onednn", "select-strategy"} <= changed
        assert "lower-cann" in {record.name for record in found.passes} - changed

    def test_the_last_lines_are_the_model_s(self):
        found = gradc.report(CONV_MLIR, run=False)
        assert not isinstance(found.passes, Missing)
        last = [record for record in found.passes if record.changed][-1]
        assert not isinstance(last.lines, Missing)
        kept = "\n".join(line.text for line in last.lines if line.mark != "removed")
        for kind in model(found).nodes:
            assert f"onnx.{kind}" in kept
        assert "onednn." not in kept

    @pytest.mark.parametrize("source", ["document", "graph", "module"])
    def test_every_kind_of_source(self, source):
        graph = chain(1)
        given = {"document": CONV, "graph": graph, "module": graph.module()}[source]
        assert gradc.report(given).ok

    def test_constants_are_no_inputs(self, tmp_path):
        weights = {"w0_0": np.ones((2, 2, 3, 3), np.float32)}
        np.savez(tmp_path / "w.npz", **weights)
        for constants in (weights, tmp_path / "w.npz"):
            found = gradc.report(chain(1), constants=constants)
            assert [info.name for info in model(found).inputs] == ["dy0"]
            assert found.ok


class TestTimes:
    def test_predictions_without_tuning(self):
        found = gradc.report(CONV_MLIR, run=False)
        assert not isinstance(found.explanation, Missing)
        assert found.explanation.gradients[0].why == "predicted"

    def test_tuning_measures_once_and_the_report_shows_it(self, monkeypatch):
        bench = Bench(lambda name: 0.001 if name == "conv-to-col2im" else 0.002)
        monkeypatch.setattr(request, "_measure", bench)
        monkeypatch.setattr("gradc.inspection.explain.measure_peak", lambda target: 1e11)
        found = gradc.report(chain(2), tune=True)
        assert not isinstance(found.explanation, Missing)
        (gradient,) = found.explanation.gradients
        assert (gradient.choice, gradient.why) == ("conv-to-col2im", "measured")
        assert gradient.peak_fraction is not None
        assert len(bench.measured_keys) == 1
        assert model(found).nodes["Col2Im"] == 2

    def test_what_the_budget_does_not_allow_is_not_measured_by_explaining_either(self, monkeypatch):
        bench = Bench()
        monkeypatch.setattr(request, "_measure", bench)
        gradc.report(chain(1), tune=True, tune_budget=0)
        assert bench.measured_keys == []


class TestRun:
    def test_errors_of_outputs_and_ops(self):
        run = ran(gradc.report(chain(3), seed=7))
        assert run.inputs == "random, seed 7"
        assert [row.name for row in run.rows] == ["dx0"]
        assert not isinstance(run.errors, Missing)
        assert len(run.errors.ops) == 3

    def test_images_are_gradients_and_not_weights(self):
        run = ran(gradc.report(chain(1, layout="NXC")))
        assert [(a.name, a.role, a.layout) for a in run.arrays] == [
            ("dy0", "input", "NXC"),
            ("dx0", "output", "NXC"),
        ]
        given, made = run.arrays
        assert given.expected is None
        assert made.expected is not None
        np.testing.assert_allclose(made.values, made.expected, atol=1e-6)

    def test_given_inputs(self, tmp_path):
        given = {"dy0": np.ones((1, 2, 6, 6), np.float32), "w0_0": np.zeros((2, 2, 3, 3), np.float32)}
        np.savez(tmp_path / "in.npz", **given)
        for inputs in (given, tmp_path / "in.npz"):
            run = ran(gradc.report(chain(1), inputs=inputs))
            assert run.inputs == "given"
            assert not run.arrays[1].values.any()

    def test_half_types_through_a_file(self, tmp_path):
        given = {"dy0": np.ones((1, 2, 6, 6)), "w0_0": np.ones((2, 2, 3, 3))}
        np.savez(tmp_path / "in.npz", **{k: v.astype(ml_dtypes.bfloat16) for k, v in given.items()})
        found = gradc.report(chain(1, dtype="bf16"), inputs=tmp_path / "in.npz")
        assert found.ok
        assert ran(found).arrays[0].values.dtype == ml_dtypes.bfloat16

    def test_unknown_sizes_are_made_up_or_given(self):
        path = EXAMPLES / "resize_dynamic.mlir"
        assert gradc.report(path).ok
        shapes = {"grads": (1, 3, 8, 10), "image": (1, 3, 4, 5)}
        (image,) = [a for a in ran(gradc.report(path, shapes=shapes)).arrays if a.role == "output"]
        assert image.values.shape == (1, 3, 4, 5)

    def test_wrong_numbers(self, monkeypatch):
        run = Session.run
        monkeypatch.setattr(Session, "run", lambda *args: {k: 2 * v for k, v in run(*args).items()})
        found = gradc.report(chain(1))
        assert not found.ok
        assert found.exit_code == 1


class TestMissing:
    """A part that cannot be had says why; all others are there."""

    def test_nothing_is_run(self):
        found = gradc.report(CONV_MLIR, run=False)
        assert why(found.run) == "nothing was run, as requested"
        assert found.ok
        assert isinstance(found.model, Model)

    def test_no_runtime(self, monkeypatch):
        def absent() -> None:
            raise gradc.UnsupportedError(Diagnostic("error", "onnxruntime is not installed"))

        monkeypatch.setattr(runtime, "_onnxruntime", absent)
        found = gradc.report(CONV_MLIR)
        assert "onnxruntime is not installed" in why(found.run)
        assert not isinstance(found.explanation, Missing)

    def test_no_gpu(self):
        if "CUDAExecutionProvider" in runtime.available_providers():
            pytest.skip("there is a GPU")
        found = gradc.report(CONV_MLIR, target="cuda")
        assert "CUDA" in why(found.run)
        assert found.settings.target == "cuda"
        assert isinstance(found.model, Model)
        assert found.exit_code == 0

    def test_inputs_that_do_not_fit(self):
        found = gradc.report(chain(1), inputs={"dy0": np.ones(3, np.float32)})
        assert "missing inputs" in why(found.run)
        assert isinstance(found.model, Model)

    def test_too_many_ops_to_run_each(self, monkeypatch):
        monkeypatch.setattr(running, "MOST_OPS", 2)
        run = ran(gradc.report(chain(3)))
        assert why(run.errors) == "3 gradients, more than the 2 up to which each is compared with float64"
        assert run.ok
        assert all(array.expected is None for array in run.arrays)

    def test_too_much_work_to_run_each(self, monkeypatch):
        monkeypatch.setattr(running, "MOST_FLOPS", 5_000)
        run = ran(gradc.report(chain(2)))
        assert why(run.errors).startswith("gradients of 5.18 kflop, more than the 5 kflop up to which")
        assert run.ok

    def test_too_large_weights_to_widen(self, monkeypatch):
        monkeypatch.setattr(running, "MOST_WEIGHTS", 10)
        run = ran(gradc.report(chain(1), constants={"w0_0": np.ones((2, 2, 3, 3), np.float32)}))
        assert why(run.errors).startswith("weights of 144 bytes, more than the 10 bytes up to which")
        assert run.ok

    def test_too_many_ops_to_show(self, monkeypatch):
        monkeypatch.setattr(watching, "LARGEST", 5)
        found = gradc.report(chain(3), run=False)
        assert not isinstance(found.passes, Missing)
        assert all(isinstance(record.lines, Missing) for record in found.passes)
        assert "more than the 5 up to which" in why(found.passes[0].lines)


class TestFailures:
    def test_a_document_that_is_wrong(self, tmp_path):
        path = tmp_path / "wrong.json"
        path.write_text(text_of(changed(CONV, attrs(strides=[0, 2]))))
        found = gradc.report(path)
        assert found.failure is not None
        assert found.failure.diagnostic.subject.startswith("ConvolutionBackwardData")
        assert (
            path.read_text().splitlines()[found.failure.diagnostic.position.line - 1] in found.failure.quote
        )
        assert found.exit_code == 4
        assert not found.ok

    def test_a_strategy_that_does_not_apply(self):
        found = gradc.report(CONV_MLIR, strategy="conv-to-conv")
        assert found.failure is not None
        assert "stride 2" in found.failure.diagnostic.message
        assert found.exit_code == 3
        assert found.ops == {"ConvolutionBackwardData": 1}
        assert not isinstance(found.passes, Missing)
        assert not isinstance(found.explanation, Missing)
        assert why(found.model) == "the graph does not compile"

    def test_a_file_that_is_not_there_has_no_report(self, tmp_path):
        with pytest.raises(gradc.GradcError, match="cannot read"):
            gradc.report(tmp_path / "absent.mlir")

    @pytest.mark.parametrize("wrong", [{"target": "gpu"}, {"strategy": "fast"}, {"opset": 3}, {"threads": 0}])
    def test_arguments_that_make_no_sense(self, wrong):
        with pytest.raises(gradc.UsageError):
            gradc.report(CONV_MLIR, **wrong)


class TestRepr:
    def test_the_short_of_it(self, monkeypatch):
        count = sum(model(gradc.report(CONV_MLIR, run=False)).nodes.values())
        short = f"<Report of conv_backward.mlir: target cpu, 1 source op, {count} ONNX nodes, "
        assert repr(gradc.report(CONV_MLIR)) == f"{short}verified>"
        assert repr(gradc.report(CONV_MLIR, run=False)) == f"{short}not verified>"
        run = Session.run
        monkeypatch.setattr(Session, "run", lambda *a: {k: v + np.float32(1) for k, v in run(*a).items()})
        assert repr(gradc.report(CONV_MLIR)) == f"{short}failed verification>"

    def test_of_what_does_not_compile(self):
        found = gradc.report(CONV_MLIR, strategy="conv-to-conv")
        assert repr(found) == "<Report of conv_backward.mlir: target cpu, 1 source op, does not compile>"

    def test_a_name_does_not_speak_to_a_terminal(self, tmp_path):
        path = tmp_path / "\x1b[31mred\u202e.mlir"
        path.write_text(CONV_MLIR.read_text())
        assert repr(gradc.report(path, run=False)).isprintable()


class TestRepeat:
    def test_the_commands_of_a_file(self, monkeypatch):
        monkeypatch.chdir(EXAMPLES.parent)
        found = gradc.report("examples/conv_backward.mlir", run=False, strict_ieee=True, opset=17, seed=3)
        assert found.repeat[0] == (
            "gradc report examples/conv_backward.mlir -o report.html --opset 17 --strict-ieee --seed 3"
        )
        assert found.repeat[1] == (
            "gradc compile examples/conv_backward.mlir -o conv_backward.onnx --opset 17 --strict-ieee"
        )

    def test_names_are_quoted_for_the_shell(self, tmp_path):
        path = tmp_path / "a b; rm x.mlir"
        path.write_text(CONV_MLIR.read_text())
        assert f"gradc report '{path}' -o" in gradc.report(path, run=False).repeat[0]

    def test_python_for_what_is_no_file(self):
        found = gradc.report(chain(1), target="portable", seed=2)
        assert found.repeat == (
            "gradc.report(graph, target='portable', seed=2).save('report.html')",
            "gradc.compile(graph, target='portable').save('model.onnx')",
        )

    def test_the_commands_run(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "g.mlir").write_text((EXAMPLES / "resize_dynamic.mlir").read_text())
        shapes = {"grads": (1, 3, 8, 10), "image": (1, 3, 4, 5)}
        report, *others = gradc.report("g.mlir", shapes=shapes, seed=1, threads=1).repeat
        assert "--shape grads=1x3x8x10" in report
        for command in (report.replace("-o report.html", "--json"), *others):
            name, *words = shlex.split(command)
            assert name == "gradc"
            assert run_gradc(*words).code == 0, command


SCALED = """<ir_version: 10, opset_import: ["": 18]> g (float[3] x, float[3] k) => (float[3] y, float[3] z)
{ y = Mul (x, k)  z = Sin (y) }"""


BY_A_WEIGHT = """<ir_version: 10, opset_import: ["": 18]> g (float[3] x) => (float[3] y)
<float[3] k = {1, 2, 3}> { y = Mul (k, x) }"""

AT_A_KINK = """<ir_version: 10, opset_import: ["": 18]> g (float[3] x) => (float[3] y)
<float[3] k = {0, 0, 0}> { a = Mul (k, x) y = Relu (a) }"""


class TestOfGradients:
    """`wrt` and `of` as the command has them."""

    def test_the_graph_is_the_gradient(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
        monkeypatch.chdir(tmp_path)
        onnx.save(onnx.parser.parse_model(SCALED), "m.onnx")
        options = {"wrt": ["x", "k"], "of": "z", "strict_ieee": True, "seed": 3}
        by_name = gradc.report("m.onnx", **options)
        by_model = gradc.report(onnx.load("m.onnx"), **options)
        by_command = run_gradc("report", "m.onnx", "--wrt", "x", "--wrt", "k", "--of", "z", "--json")
        assert by_command.code == 0
        names = ["x", "k", "cotangent_z"]
        assert [one["name"] for one in json.loads(by_command.out)["model"]["inputs"]] == names
        for found in (by_name, by_model):
            assert found.ok
            assert [info.name for info in model(found).inputs] == names
        request_options = "m.onnx --wrt x --wrt k --of z"
        assert by_name.repeat == (
            f"gradc report {request_options} -o report.html --strict-ieee --seed 3",
            f"gradc grad {request_options} --cotangents -o m_gradient.onnx --strict-ieee",
            f"gradc verify {request_options} --report --strict-ieee --seed 3",
            f"gradc explain {request_options} --strict-ieee",
        )
        assert by_model.repeat == (
            "gradc.report(graph, wrt=['x', 'k'], of=['z'], strict_ieee=True, seed=3).save('report.html')",
            "gradc.vjp(graph, wrt=['x', 'k'], of=['z'], strict_ieee=True).save('model.onnx')",
        )
        for command in by_name.repeat[1:]:
            assert run_gradc(*shlex.split(command)[1:]).code == 0, command

    def test_the_check_of_the_gradient(self):
        found = gradc.report(onnx.parser.parse_model(SCALED), wrt="x", of="z")
        assert isinstance(found.check, GradientCheck)
        assert str(found.check).startswith("proved: 2 of 2 ops and the whole, worst ")
        assert json.loads(as_json(found))["check"]["status"] == "proved"

    def test_a_gradient_by_a_weight(self):
        """The weight is an optional input of the model, and an input of the source."""
        found = gradc.report(onnx.parser.parse_model(BY_A_WEIGHT), wrt="k", of="y")
        assert [row.name for row in ran(found).rows] == ["grad_k"]
        assert found.ok

    def test_an_op_that_the_check_cannot_decide(self):
        found = gradc.report(onnx.parser.parse_model(AT_A_KINK), wrt="k", of="y")
        assert found.ok
        data = json.loads(as_json(found))["check"]
        assert data["status"] == "partly proved"
        assert {"op": "Relu y", "reason": "3 elements at its kink"} in data["undecided"]

    def test_a_wrong_gradient(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(vjp, "RULES", {**vjp.RULES, "Sin": lambda f, g, e: [g[0] * 2]})
        found = gradc.report(onnx.parser.parse_model(SCALED), wrt="x", of="z")
        assert (found.ok, found.exit_code, found.verdict) == (False, 1, "failed verification")
        data = json.loads(as_json(found))["check"]
        assert data["status"] == "wrong"
        assert "this op is to blame" in data["error"]

    def test_no_check(self):
        found = gradc.report(onnx.parser.parse_model(SCALED), wrt="x", of="z", run=False)
        assert why(found.check) == "nothing was run, as requested"
        plain = gradc.report(onnx.parser.parse_model(SCALED), run=False)
        assert plain.check is None
        assert json.loads(as_json(plain))["check"] is None

    def test_what_is_no_gradient(self):
        with pytest.raises(
            gradc.UsageError, match="straight_through: given True, expected wrt or of with it"
        ):
            gradc.report(CONV_MLIR, straight_through=True)
        with pytest.raises(gradc.UsageError, match="wrt: there is no value q"):
            gradc.report(onnx.parser.parse_model(SCALED), wrt="q", of="z")

    def test_a_model_is_not_compiled_over_itself(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
        monkeypatch.chdir(tmp_path)
        onnx.save(onnx.parser.parse_model(SCALED), "m.onnx")
        command = gradc.report("m.onnx", run=False).repeat[1]
        assert command == "gradc compile m.onnx -o m_compiled.onnx"
        assert run_gradc(*shlex.split(command)[1:]).code == 0


class TestJson:
    def test_every_part(self):
        found = json.loads(as_json(gradc.report(CONV_MLIR, auto_pad_rule="documented")))
        assert found["ok"] is True
        assert found["ops"] == {"ConvolutionBackwardData": 1}
        assert found["run"]["verified"][0]["ok"] is True
        assert {"name", "seconds", "changed"} == set(found["passes"][0])
        assert found["explanation"]["gradients"][0]["choice"]
        assert len(found["remarks"]) == 2

    def test_what_is_missing_says_why(self):
        found = json.loads(as_json(gradc.report(CONV_MLIR, strategy="conv-to-conv")))
        assert found["model"] == {"missing": "the graph does not compile"}
        assert "stride 2" in found["failure"]

    def test_an_infinite_error_is_null(self, monkeypatch):
        run = Session.run
        monkeypatch.setattr(
            Session, "run", lambda *a: {k: v + np.float32(np.inf) for k, v in run(*a).items()}
        )
        text = as_json(gradc.report(chain(1)))
        assert json.loads(text, parse_constant=pytest.fail)["run"]["verified"][0]["worst"] is None
