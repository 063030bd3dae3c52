"""One suite of compiled models on onnxruntime, OpenVINO and, in a browser, onnxruntime-web.

The values are held against the reference under the tolerances of all other tests. A runtime that is not
installed is skipped with a line that says how to get it; GRADC_REQUIRE_RUNTIMES=1 makes that a failure.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pytest
from onnx import parser
from support.compare import assert_agree
from support.runtimes.cases import ALL_KINDS, CASES, TARGETS, Case
from support.runtimes.isolated import Isolated
from support.runtimes.limits import LIMITS, limit_of
from support.runtimes.onnxruntime_cpu import OnnxruntimeCpu
from support.runtimes.onnxruntime_web import OnnxruntimeWeb
from support.runtimes.op_forms import FORMS, NOT_RUN, OpForm
from support.runtimes.openvino_cpu import OpenvinoCpu
from support.runtimes.runner import REQUIRED, Runner, require
from support.runtimes.tract_cpu import TractCpu
from support.tiers import some

import gradc
from dialects.evaluate import evaluate
from dialects.support.diagnostics import UnsupportedError
from passes.strategies import all_strategies
from passes.targets.target import Target

RUNNERS: tuple[Runner, ...] = (OnnxruntimeCpu(), OpenvinoCpu(), OnnxruntimeWeb())
ISOLATED = (Isolated(OpenvinoCpu()), OnnxruntimeWeb(), Isolated(TractCpu()))
"""What runs forms of single ops, for some of which a runtime ends its process."""
OWN_TARGETS = (ISOLATED[0], ISOLATED[2])
"""Runtimes that have a target."""
FILES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(params=RUNNERS, ids=lambda runner: runner.name)
def runner(request: pytest.FixtureRequest) -> Runner:
    require(request.param.missing())
    return request.param


def check(runner: Runner, case: Case) -> None:
    results = runner.run(case.model, case.feeds)
    for run, got in enumerate(results):
        case.expected.check(run, got, f"{runner.name}, {case.name}\n{case.problem}")


@pytest.mark.sweep(entries=r"onnxruntime-web|\w+")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(runner: Runner, case: Case):
    limit = limit_of(runner.name, case)
    if limit is None:
        check(runner, case)
        return
    with pytest.raises((AssertionError, RuntimeError)) as raised:
        check(runner, case)
    assert re.search(limit.says, str(raised.value)), raised.value


@pytest.mark.sweep
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
@pytest.mark.parametrize("isolated", ISOLATED, ids=lambda isolated: isolated.name)
def test_portable_form(isolated: Runner, form: OpForm):
    require(isolated.missing())
    written = gradc.compile(form.model, target="portable").model
    (want,) = OnnxruntimeCpu().run(written, [form.feeds])
    known = [limit for limit in NOT_RUN.get(isolated.name, {}) if fnmatchcase(form.name, limit)]
    if known:
        with pytest.raises(RuntimeError, match=NOT_RUN[isolated.name][known[0]]):
            isolated.run(written, [form.feeds])
        return
    (got,) = isolated.run(written, [form.feeds])
    for array, value in zip(got, want, strict=True):
        assert array.shape == value.shape
        np.testing.assert_allclose(array.astype(float), value.astype(float), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("isolated", ISOLATED, ids=lambda isolated: isolated.name)
def test_gradient_of_queries_without_keys(isolated: Runner):
    """A maximum of -inf alone is finite on OpenVINO and tract; the gradient takes none."""
    require(isolated.missing())
    types = "float[1,2,2,8] q, float[1,2,2,8] k, float[1,2,2,8] v, bool[2,2] m"
    text = f'<ir_version: 10, opset_import: ["" : 23]> g ({types}) => (float[1,2,2,8] y)'
    model = parser.parse_model(f"{text} {{ y = Attention(q, k, v, m) }}")
    gradient = gradc.vjp(model, wrt=["q", "k", "v"], target="portable", opset=18)
    draw = np.random.default_rng(1)
    feeds = {i.name: draw.standard_normal(i.shape).astype(np.float32) for i in gradient.inputs}
    feeds["m"] = np.array([[False, False], [True, False]])
    (got,) = isolated.run(gradient.model, [{info.name: feeds[info.name] for info in gradient.inputs}])
    for array, want in zip(got, gradient.reference(feeds).values(), strict=True):
        np.testing.assert_allclose(array, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("target", ["portable", "openvino"])
def test_unsorted_elements_are_refused_without_their_inverse(target: str):
    head = '<ir_version: 8, opset_import: ["" : 18]> g (float[6] x) =>'
    alone = parser.parse_model(f"{head} (float[?] y) {{ y = Unique<sorted=0>(x) }}")
    with pytest.raises(UnsupportedError, match=f"Unique with sorted 0.* is avoided on {target}"):
        gradc.compile(alone, target=target)
    both = parser.parse_model(f"{head} (float[?] y, int64[?] i) {{ y, n, i = Unique<sorted=0>(x) }}")
    gradc.compile(both, target=target)


@pytest.mark.sweep
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
@pytest.mark.parametrize("isolated", OWN_TARGETS, ids=lambda isolated: isolated.name)
def test_form_on_the_target_of_the_runtime(isolated: Runner, form: OpForm):
    require(isolated.missing())
    refused = NOT_RUN.get(isolated.name, {})
    if any(fnmatchcase(form.name, limit) for limit in refused):
        with pytest.raises(UnsupportedError, match=f"is avoided on {isolated.name}"):
            gradc.compile(form.model, target=isolated.name)
        return
    (want,) = OnnxruntimeCpu().run(gradc.compile(form.model, target="portable").model, [form.feeds])
    (got,) = isolated.run(gradc.compile(form.model, target=isolated.name).model, [form.feeds])
    for array, value in zip(got, want, strict=True):
        assert array.shape == value.shape
        np.testing.assert_allclose(array.astype(float), value.astype(float), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("file", ["conv_backward.mlir", "decoder_backward.json"])
@pytest.mark.parametrize("target", ["openvino", "tract"])
def test_examples_on_the_target_of_the_runtime(target: str, file: str):
    own = next(each for each in OWN_TARGETS if each.name == target)
    require(own.missing())
    compiled = gradc.compile(FILES / file, target=target)
    draw = np.random.default_rng(7)
    feeds = {info.name: draw.standard_normal(info.shape).astype(np.float32) for info in compiled.inputs}
    got, want = compiled.run(feeds, runtime=target), compiled.reference(feeds)
    for name, array in got.items():
        np.testing.assert_allclose(array, want[name], rtol=1e-3, atol=1e-3 * np.abs(want[name]).max())


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("file", ["conv_backward.mlir", "decoder_backward.json"])
def test_examples(runner: Runner, file: str, target: str):
    compiled = gradc.compile(FILES / file, target=target)
    source = gradc.compiler.driver.load(FILES / file)
    draw = np.random.default_rng(7)
    feeds = {info.name: draw.standard_normal(info.shape).astype(np.float32) for info in compiled.inputs}
    want = evaluate(source, list(feeds.values()))
    magnitudes = evaluate(source, [np.abs(array) for array in feeds.values()])
    (got,) = runner.run(compiled.model, [feeds])
    for array, value, magnitude in zip(got, want, magnitudes, strict=True):
        assert_agree(array, value, magnitude, f"{runner.name}, {file}")


class TestSuite:
    """What the suite covers, whichever runtimes are there."""

    def test_names_are_unique(self):
        assert len({case.name for case in CASES}) == len(CASES)

    def test_limits_are_of_cases_and_runners(self):
        for limit in LIMITS:
            assert limit.runtime in {runner.name for runner in RUNNERS}
            assert limit.reason
            assert any(fnmatchcase(case.name, limit.cases) for case in CASES), limit

    @pytest.mark.sweep(group="coverage of the suite", parts=6)
    @pytest.mark.parametrize("target", TARGETS)
    def test_every_op_layout_rank_and_form_of_weights(self, target: str):
        seen = set()
        for case in CASES:
            if case.target != target or case.dtype != "f32" or case.opset != Target().opset:
                continue
            for node in case.problem.nodes:
                rank = len(node.result.declared) - 2
                layout = str(node.attributes.get("data_format", node.attributes.get("format", "NCX")))
                seen.add((node.op.__name__, rank))
                seen.add(layout.upper()[:2])
            constants = {"constant" if case.problem.constants else "run-time"}
            seen |= constants if any(node.weights is not None for node in case.problem.nodes) else set()
        for op in ("ConvolutionBackwardDataOp", "ConvTransposeBackwardDataOp", "InterpolateBackwardOp"):
            assert {(op, rank) for rank in (1, 2, 3)} <= seen
        assert {("ResizeBilinearV2GradOp", 2), ("UpsampleBilinear2dBackwardOp", 2)} <= seen
        assert {"NC", "NX", "NH", "constant", "run-time"} <= seen

    @pytest.mark.sweep(group="coverage of the suite", parts=6)
    def test_every_strategy_writes_something(self):
        for strategy in some(all_strategies()):
            case = next(c for c in CASES if c.strategy == strategy.name)
            assert f'"{strategy.name}"' in str(case.module)

    def test_every_kind_with_every_dtype_and_unknown_sizes(self):
        for kind in ALL_KINDS:
            for dtype in ("f32", "bf16", "f16"):
                found = {c.dynamic for c in CASES if c.kinds == (kind,) and c.dtype == dtype}
                assert found == {"static", "batch", "spatial"}


class TestMissing:
    def test_a_missing_runtime_skips_with_its_remedy(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.delenv(REQUIRED, raising=False)
        with pytest.raises(pytest.skip.Exception, match="pip install x"):
            require("x is not installed: pip install x")
        require(None)

    def test_and_fails_where_it_is_required(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv(REQUIRED, "1")
        with pytest.raises(pytest.fail.Exception, match="pip install x"):
            require("x is not installed: pip install x")
