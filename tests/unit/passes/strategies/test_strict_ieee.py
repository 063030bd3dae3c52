"""How `strict_ieee` reaches the strategies, and what is said of those that it refuses."""

import json

import numpy as np
import pytest
from support.cli import run_gradc
from support.documents import CONV, text_of
from support.pipeline import apply

import gradc
from dialects.evaluate import evaluate
from dialects.support.diagnostics import UnsupportedError
from gradc.compiler.options import Options
from gradc.problems import parse_problem
from gradc.tuning.records import Setting
from passes import pipelines
from passes.select_strategy import SelectStrategyPass
from passes.strategies import all_strategies, strategies_of
from passes.strategies.choice import candidates
from passes.targets.target import Target

STRICT, LOOSE = Target(strict_ieee=True), Target()
PROBLEM = "resize_backward,f32,NCX,diff_dst=1x2x8x8,diff_src=1x2x4x4"


@pytest.fixture
def document(tmp_path):
    path = tmp_path / "conv.json"
    path.write_text(text_of(CONV), encoding="utf-8")
    return path


def gradient():
    (op,) = (op for op in parse_problem(PROBLEM).module().walk() if strategies_of(op))
    return op


def test_the_default_is_not_strict():
    assert not LOOSE.strict_ieee
    assert not Options().resolve_target().strict_ieee
    assert "strict_ieee" not in Options().pipeline


def test_the_passes_that_choose_and_convert_are_told():
    text = Options(strict_ieee=True, threads=2).pipeline
    assert text == pipelines.lower(Target(threads=2, strict_ieee=True))
    for name in ("lower-onednn", "assign-layout", "select-strategy"):
        (options,) = (part.partition("}")[0] for part in text.split(f"{name}{{")[1:])
        assert "strict_ieee=true" in options
    assert SelectStrategyPass(strict_ieee=True).env.strict_ieee
    assert "strict_ieee" in str(SelectStrategyPass(strict_ieee=True))


def test_the_model_says_how_it_was_made():
    compiled = gradc.compile(parse_problem(PROBLEM).module(), strict_ieee=True, record_pipeline=True)
    (pipeline,) = (p.value for p in compiled.model.metadata_props if p.key == "gradc.pipeline")
    assert "strict_ieee=true" in pipeline


def test_measurements_are_kept_apart():
    assert Setting.of(STRICT).key("x") != Setting.of(LOOSE).key("x")


def test_what_mixes_is_refused_with_the_reason():
    refused = {c.strategy.name: c.refusal for c in candidates(gradient(), STRICT) if c.refusal}
    assert refused["resize-to-matmul"].startswith("not strict IEEE: a product with the sampling matrix")
    assert "resize-to-gathered-sum" not in refused
    with pytest.raises(UnsupportedError, match="strategy resize-to-matmul does not apply: not strict IEEE"):
        gradc.compile(parse_problem(PROBLEM).module(), strategy="resize-to-matmul", strict_ieee=True)


def test_what_is_only_for_the_strict_is_no_candidate_otherwise():
    refused = {c.strategy.name: c.refusal for c in candidates(gradient(), LOOSE) if c.refusal}
    assert refused["resize-to-gathered-sum"] == "slower than others: for strict_ieee=True only"
    assert {s.name for s in all_strategies() if s.strict_only} == {
        "conv-to-tap-sums",
        "resize-to-gathered-sum",
        "resize-dynamic-to-gathered-sum",
        "weights-to-exact-taps",
    }


def test_what_is_slow_is_a_candidate_where_nothing_else_applies():
    problem = parse_problem("conv_backward_data,f64,NCX,diff_dst=?x4x?x?,weights=4x2x3x3,strides=2x2")
    (op,) = (op for op in problem.module().walk() if strategies_of(op))
    for target in (Target(), Target("cuda", 22), Target("portable")):
        assert [c.strategy.name for c in candidates(op, target) if c.refusal is None] == ["conv-to-tap-sums"]
    assert "conv-to-tap-sums" not in [
        c.strategy.name for c in candidates(op, Target("cuda", 18)) if not c.refusal
    ]


def test_explain(document):
    found = json.loads(run_gradc("explain", document, "--strict-ieee", "--json").out)
    (gradient,) = found["gradients"]
    text = json.dumps(gradient)
    assert "not strict IEEE: Conv multiplies zeros" in text
    assert "not strict IEEE" not in run_gradc("explain", document, "--json").out


def test_the_command_line(document, tmp_path):
    assert run_gradc("compile", document, "--strict-ieee", "-o", tmp_path / "m.onnx").code == 0
    assert run_gradc("verify", document, "--strict-ieee").code == 0
    result = run_gradc("verify", document, "--strict-ieee", "--strategy", "conv-to-upsampled-conv")
    assert result.code == 3
    assert "does not apply" in result.line


@pytest.mark.sweep
@pytest.mark.parametrize("kernel", ["9x9", "5x5x5", "65", "8x9"])
@pytest.mark.parametrize("target", ["cpu", "cuda", "portable"])
@pytest.mark.parametrize("kind", ["conv_backward_data", "conv_transpose_backward_data"])
def test_a_kernel_of_many_taps_has_a_form(kernel: str, target: str, kind: str):
    """A Split of more parts than a tensor may have axes."""
    taps = [int(size) for size in kernel.split("x")]
    pads = "x".join(str(size // 2) for size in taps)
    sizes = "x".join("5" for _ in taps) if kind == "conv_backward_data" else "x".join("10" for _ in taps)
    problem = parse_problem(f"{kind},f32,NCX,diff_dst=1x2x{sizes},weights=2x2x{kernel},pads={pads}:{pads}")
    data = list(problem.feeds().values())
    spec = pipelines.lower(Target(target, strict_ieee=True), "conv-to-tap-sums")
    (got,), (want,) = evaluate(apply(problem.module(), spec), data), evaluate(problem.module(), data)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
