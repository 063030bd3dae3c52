"""`gradc explain`: what it says of each gradient. Measurements are made up."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from support.cli import run_gradc
from support.tuning import Bench
from xdsl.dialects.builtin import StringAttr

import gradc
from dialects.support.documented_op import CHOICE
from gradc.compiler.driver import compile_module, load, to_gradients
from gradc.compiler.options import Options
from gradc.inspection import explain as explaining
from gradc.inspection.explain import NOTHING, Explanation, GradientReport, as_json, as_text, explain
from gradc.problems import parse_problem
from gradc.terminal.numbers import with_prefix
from gradc.tuning import cases, request, stores
from gradc.tuning.records import Setting
from gradc.tuning.request import TuningRequest
from gradc.tuning.stores import FOLDER_VARIABLE
from passes.strategies import all_strategies, strategies_of
from passes.strategies.choice import candidates
from passes.targets.target import Target

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"
DECODER = EXAMPLES / "decoder_backward.json"
PEAK = 1e11


@pytest.fixture(autouse=True)
def bench(monkeypatch, tmp_path) -> Bench:
    """What measures, and a cache of its own. Peaks are PEAK."""
    found = Bench(lambda name: 0.001 if name == "conv-to-col2im" else 0.002)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(request, "_measure", found)
    monkeypatch.setattr(explaining, "measure_peak", lambda target: PEAK)
    return found


def explained(source, tune: bool = False, shapes=None, wants_peak: bool = False, **options) -> Explanation:
    given = Options(**options)
    requested = TuningRequest(tune=tune, shapes=shapes or {})
    tuner = requested.tuner(given.resolve_target())
    return explain(load(source), given, requested.shapes, tuner, wants_peak)


def conv(dy=(1, 4, 5, 5), dx=(1, 2, 7, 7), stride=1, **keys) -> gradc.Graph:
    g = gradc.Graph()
    value = g.input("dy", "f32", dy)
    for index in range(2):
        w = g.input(f"w{index}", "f32", (4, 2, 3, 3))
        result = g.convolution_backward_data(
            value,
            w,
            dx,
            strides=(stride, stride),
            pads_begin=(0, 0),
            pads_end=(0, 0),
            dilations=(1, 1),
            data_format="NCX",
            weights_format="OIX",
            **keys,
        )
        g.output(result, f"dx{index}")
    return g


def only(found: Explanation) -> GradientReport:
    (gradient,) = found.gradients
    return gradient


class TestGradients:
    def test_every_gradient_of_the_graph(self):
        found = explained(DECODER)
        names = [op.name for gradient in found.gradients for op in gradient.ops]
        assert sorted(names) == ["conv1", "conv2", "head", "up1", "up2"]
        for gradient in found.gradients:
            assert str(parse_problem(gradient.problem)) == gradient.problem
            assert all(str(DECODER) in op.position for op in gradient.ops)

    def test_the_same_problem_is_explained_once(self):
        gradient = only(explained(conv()))
        assert len(gradient.ops) == 2
        assert len({op.position for op in gradient.ops}) == 1, "the two are one line of this file"

    def test_every_strategy_that_knows_it_is_there(self):
        for gradient in explained(DECODER).gradients:
            (op,) = (op for op in parse_problem(gradient.problem).module().walk() if op.name[:5] == "grad.")
            known = {strategy.name for strategy in all_strategies() if isinstance(op, strategy.ops)}
            assert {row.name for row in gradient.strategies} == known
            assert all((row.predicted is None) == (row.refusal is not None) for row in gradient.strategies)
            assert all(row.measured is None for row in gradient.strategies)

    def test_the_nodes_are_those_of_the_model(self):
        """Of a graph of one gradient, none of which fold together with others."""
        g = conv(stride=2, dx=(1, 2, 11, 11))
        model = compile_module(load(g), Options()).model
        kinds = [node.op_type for node in model.graph.node]
        gradient = only(explained(g))
        assert {kind: 2 * count for kind, count in gradient.nodes.items()} == {
            kind: kinds.count(kind) for kind in kinds
        }

    def test_flops(self):
        assert only(explained(conv())).flops == 2 * 25 * 4 * 2 * 9

    def test_no_gradients(self):
        g = gradc.Graph()
        x = g.input("x", "f32", (1, 2, 4, 4))
        same = g.interpolate_backward(x, x, mode="linear", sizes=(4, 4), data_format="NCX")
        g.output(same, "y")
        found = explained(g)
        assert found.gradients == []
        assert as_text(found).splitlines()[1:] == [NOTHING]
        assert NOTHING not in as_text(explained(conv()))


class TestChoice:
    def test_predicted(self):
        found = only(explained(conv(), threads=2))
        (op, *_) = (op for op in parse_problem(found.problem).module().walk() if op.name[:5] == "grad.")
        assert (found.choice, found.why) == (candidates(op, Target(threads=2))[0].strategy.name, "predicted")

    def test_forced(self):
        gradient = only(explained(conv(), strategy="conv_to_matmul"))
        assert (gradient.choice, gradient.why) == ("conv-to-matmul", "forced")
        assert "MatMul" in gradient.nodes

    def test_forced_and_refused(self):
        gradient = only(explained(conv(stride=2, dx=(1, 2, 11, 11)), strategy="conv-to-conv"))
        assert gradient.choice is None
        assert gradient.why.startswith("strategy conv-to-conv does not apply: stride 2")
        assert gradient.nodes == {}
        assert len(gradient.strategies) > 1, "all the others are there to see"

    def test_measured(self, bench):
        gradient = only(explained(conv(), tune=True))
        assert (gradient.choice, gradient.why) == ("conv-to-col2im", "measured")
        assert bench.measured_keys == [gradient.problem]
        measured = {row.name: row.measured for row in gradient.strategies if row.refusal is None}
        assert measured["conv-to-col2im"] == 0.001
        assert set(measured.values()) == {0.001, 0.002}

    def test_what_compile_measured_is_shown_and_changes_nothing(self):
        gradc.compile(conv(), tune=True)
        gradient = only(explained(conv()))
        assert gradient.why == "untuned"
        assert gradient.choice != "conv-to-col2im"
        assert all((row.measured is None) == (row.refusal is not None) for row in gradient.strategies)

    def test_named(self, tmp_path):
        text = str(conv().module())
        first, rest = text.split("weights_format =", 1)
        path = tmp_path / "g.mlir"
        path.write_text(f'{first}{CHOICE} = "conv-to-matmul", weights_format ={rest}')
        named, other = explained(path, tune=True).gradients
        assert (named.choice, named.why) == ("conv-to-matmul", "named")
        assert (other.choice, other.why) == ("conv-to-col2im", "measured")
        assert named.problem == other.problem

    def test_what_assign_layout_wrote_down_is_not_what_the_source_names(self, monkeypatch):
        def assigned(module, options):
            remarks = to_gradients(module, options)
            for op in module.walk():
                if strategies_of(op):
                    op.attributes[CHOICE] = StringAttr("conv-to-matmul")
            return remarks

        monkeypatch.setattr(explaining, "to_gradients", assigned)
        gradient = only(explained(conv()))
        assert (gradient.choice, gradient.why) == ("conv-to-matmul", "layout")

    @pytest.mark.parametrize(("why", "message"), explaining.WHY.items())
    def test_the_words_are_sentences_of_their_own(self, why, message):
        found = explained(conv())
        gradient = replace(only(found), why=why)
        assert f"({message}): " in as_text(replace(found, gradients=[gradient]))
        assert len(message.split()) > 2

    def test_what_the_source_names_in_vain(self, tmp_path):
        path = tmp_path / "g.mlir"
        text = str(conv().module())
        path.write_text(text.replace("weights_format =", f'{CHOICE} = "resize-to-matmul", weights_format ='))
        found = explained(path)
        assert only(found).why == "predicted"
        assert len(found.remarks) == 2
        assert "the chosen strategy resize-to-matmul does not apply" in found.remarks[0]


class TestPeak:
    def test_nobody_asked(self):
        found = explained(conv())
        assert found.peak_flops is None
        assert only(found).peak_fraction is None

    def test_wanted(self):
        found = explained(conv(), wants_peak=True)
        assert found.peak_flops == PEAK
        assert only(found).peak_fraction is None, "nothing is measured to compare with it"

    def test_measured_once(self, monkeypatch):
        explained(conv(), wants_peak=True)
        monkeypatch.setattr(explaining, "measure_peak", None)
        assert explained(conv(), wants_peak=True).peak_flops == PEAK

    def test_the_fraction(self):
        found = explained(conv(), tune=True)
        flops = only(found).flops
        assert flops
        assert only(found).peak_fraction == pytest.approx(flops / 0.001 / PEAK)

    def test_times_of_another_machine_are_not_compared_with_this_one(self, tmp_path, monkeypatch):
        path = tmp_path / "t.json"
        gradc.compile(conv(), tune=True, tuning_file=path)
        path.write_text(path.read_text().replace(str(Setting.of(Target())), "another machine"))
        shipped = TuningRequest(file=path)
        options = Options(threads=shipped.threads(None))
        found = explain(load(conv()), options, {}, shipped.tuner(options.resolve_target()))
        assert only(found).why == "measured"
        assert found.peak_flops is None

    @pytest.mark.parametrize("value", [None, -1, "1", [], float("nan")])
    def test_a_cache_that_says_nonsense(self, value):
        cache = stores.Cache(Setting.of(Target()))
        cache.write_value(explaining.PEAK, value)
        assert explained(conv(), wants_peak=True).peak_flops == PEAK


class TestUnknownSizes:
    G = conv(dy=("N", 4, 5, 5), dx=(None, 2, 7, 7))

    def test_they_are_no_hindrance(self):
        gradient = only(explained(self.G))
        assert "diff_dst=?x4x5x5" in gradient.problem
        assert gradient.choice
        assert gradient.nodes
        assert gradient.flops is None

    def test_stated_ones(self, bench):
        shapes = {"dy": (2, 4, 5, 5)}
        gradient = only(explained(self.G, tune=True, shapes=shapes))
        assert gradient.flops == 2 * 50 * 4 * 2 * 9
        assert gradient.peak_fraction
        assert only(explained(self.G, shapes=shapes)).strategies == gradient.strategies

    def test_dynamic_resizes(self):
        found = explained(EXAMPLES / "resize_dynamic.mlir")
        assert found.gradients
        assert all(gradient.choice for gradient in found.gradients)


class TestReport:
    @pytest.mark.parametrize("tune", [False, True])
    def test_json(self, tune):
        found = explained(DECODER, tune=tune)
        content = json.loads(as_json(found))
        assert content["threads"] == found.threads
        assert content["peak_flops"] == (PEAK if tune else None)
        assert [g["problem"] for g in content["gradients"]] == [g.problem for g in found.gradients]

    def test_text(self):
        text = as_text(explained(DECODER, tune=True))
        for gradient in explained(DECODER, tune=True).gradients:
            assert gradient.problem in text
            for row in gradient.strategies:
                assert row.name in text
                assert (row.refusal or "") in text
        assert "measured" in text
        assert "% of the peak" in text
        assert "measured" not in as_text(explained(conv(dy=(3, 4, 5, 5), dx=(3, 2, 7, 7))))

    @pytest.mark.parametrize(
        ("number", "text"),
        [(3.0, "3 "), (1234, "1.23 k"), (2.5e6, "2.5 M"), (316e9, "316 G"), (4e13, "40 T")],
    )
    def test_amounts(self, number, text):
        assert with_prefix(number) == text


class TestCommand:
    def test_text_and_json(self):
        plain = run_gradc("explain", DECODER)
        assert (plain.code, plain.err) == (0, "")
        assert '"conv1"' in plain.out
        found = json.loads(run_gradc("explain", DECODER, "--json", "--threads", 1, "--measure-peak").out)
        assert (found["threads"], found["peak_flops"]) == (1, PEAK)

    def test_tune(self, bench):
        assert run_gradc("explain", DECODER, "--tune").code == 0
        assert len(bench.measured_keys) == 5

    def test_constants_change_the_problem(self, tmp_path):
        path = tmp_path / "g.mlir"
        path.write_text(str(conv().module()))
        weights = tmp_path / "w.npz"
        ones = np.ones((4, 2, 3, 3), np.float32)
        np.savez(weights, w0=ones, w1=ones)
        assert "weights_are=input" in run_gradc("explain", path).out
        assert "weights_are=input" not in run_gradc("explain", path, "--constants", weights).out

    def test_remarks_are_part_of_it(self, tmp_path):
        path = tmp_path / "g.mlir"
        path.write_text(str(TestUnknownSizes.G.module()))
        result = run_gradc("explain", path, "--tune")
        assert result.err == ""
        assert "cannot be measured without sizes, which --shape states" in result.out

    def test_a_bad_graph(self, tmp_path):
        path = tmp_path / "g.json"
        path.write_text("{}")
        result = run_gradc("explain", path)
        assert result.code == 4
        assert "g.json" in result.line


def test_a_gradient_that_is_no_known_problem_is_told(monkeypatch):
    """As of an op that is new: it compiles, and an empty table would say nothing of it."""
    for module in (cases, explaining):
        monkeypatch.setattr(module, "OPS", {})
    found = explained(conv())
    assert found.gradients == []
    assert len(found.remarks) == 2, "one for each of the two"
    for remark in found.remarks:
        assert "remark: " in remark
        assert "gradc/problems has no kind for grad.conv_backward_data" in remark
        assert remark in as_text(found)


def residual_stage(tmp_path: Path) -> Path:
    """The last stage of a ResNet-18 without normalizations."""
    rng = np.random.default_rng(0)
    tensors, nodes = [], []

    def conv(read: str, made: str, channels: int, size: int, stride: int = 1) -> None:
        weight = rng.normal(size=(512, channels, size, size)).astype(np.float32)
        tensors.append(numpy_helper.from_array(weight, f"w_{made}"))
        window = {"pads": [size // 2] * 4, "strides": [stride] * 2}
        nodes.append(helper.make_node("Conv", [read, f"w_{made}"], [made], **window))

    def plain(op: str, read: list[str], made: str) -> None:
        nodes.append(helper.make_node(op, read, [made]))

    conv("x", "c0", 256, 3, 2)
    plain("Relu", ["c0"], "r0")
    conv("r0", "c1", 512, 3)
    conv("x", "skip", 256, 1, 2)
    plain("Add", ["c1", "skip"], "a1")
    plain("Relu", ["a1"], "r1")
    conv("r1", "c2", 512, 3)
    plain("Relu", ["c2"], "r2")
    conv("r2", "c3", 512, 3)
    plain("Add", ["c3", "r1"], "a3")
    plain("Relu", ["a3"], "y")
    x = helper.make_tensor_value_info("x", 1, [1, 256, 14, 14])
    y = helper.make_tensor_value_info("y", 1, [1, 512, 7, 7])
    graph = helper.make_graph(nodes, "g", [x], [y], tensors)
    path = tmp_path / "stage.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.mark.parametrize("threads", [1, 16])
def test_the_fastest_by_prediction_has_the_shortest_bar(tmp_path: Path, threads: int):
    """One that is dearer alone, as it keeps the layout of its neighbours, has another reason."""
    done = run_gradc("explain", residual_stage(tmp_path), "--wrt", "x", "--threads", threads, "--json")
    assert done.code == 0, done.err
    gradients = json.loads(done.out)["gradients"]
    assert len(gradients) == 3
    for gradient in gradients:
        times = {row["name"]: row["predicted"] for row in gradient["strategies"] if row["predicted"]}
        is_shortest = times[gradient["choice"]] == min(times.values())
        assert is_shortest == (gradient["why"] == "predicted"), gradient
    assert threads == 16 or any(gradient["why"] == "layout" for gradient in gradients)


def test_a_choice_that_is_dearer_alone_shares_a_layout(monkeypatch):
    dearer = next(strategy for strategy in all_strategies() if strategy.name == "conv-to-matmul")
    monkeypatch.setattr(explaining, "choose", lambda op, forced, target: dearer)
    gradient = only(explained(conv()))
    assert (gradient.choice, gradient.why) == ("conv-to-matmul", "shared")
