"""The whole way: source ops to an ONNX model, run by onnxruntime, against the float64 reference."""

from __future__ import annotations

import pytest
from hypothesis import given
from support.examples import examples
from support.generate import KINDS, problems, seeded
from support.pipeline import Expected, lowered
from support.problems import Node, Problem

from dialects.cann.resize import ResizeBilinearV2GradOp
from dialects.support.diagnostics import UnsupportedError
from gradc.runtime import newest_opset
from passes.target import Target

pytest.importorskip("onnxruntime")

OPSETS = sorted({13, 15, 18, 21, newest_opset()})


@pytest.mark.parametrize("kind", KINDS)
def test_single_ops(kind: str):
    @examples(60)
    @given(problems(kinds=(kind,)))
    def check(problem: Problem):
        Expected(problem).check_runtime(lowered(problem, Target()), Target())

    check()


@pytest.mark.parametrize("opset", OPSETS)
def test_every_opset(opset: int):
    target = Target("cpu", opset)

    @examples(30)
    @given(problems(most_ops=2))
    def check(problem: Problem):
        Expected(problem).check_runtime(lowered(problem, target), target)

    check()


@examples(60)
@given(problems(most_ops=4))
def test_graphs(problem: Problem):
    Expected(problem).check_runtime(lowered(problem, Target()), Target())


@examples(40)
@given(problems(dtypes=("f64",), dynamics=("static", "batch")))
def test_float64_where_sizes_are_known(problem: Problem):
    Expected(problem).check_runtime(lowered(problem, Target()), Target())


@examples(40)
@given(problems(dtypes=("f64",), dynamics=("spatial",)))
def test_float64_of_unknown_sizes_runs_or_is_refused(problem: Problem):
    """onnxruntime has no f64 convolution: the reason says so."""
    try:
        module = lowered(problem, Target())
    except UnsupportedError as error:
        reason = str(error)
    else:
        Expected(problem).check_runtime(module, Target())
        return
    assert "no f64 kernel" in reason


@pytest.mark.parametrize("seed", range(60))
def test_seeded(seed: int):
    """Larger than hypothesis likes to draw, the same in every run."""
    problem = seeded([2, seed], most_ops=3)
    target = Target("cpu", OPSETS[seed % len(OPSETS)])
    Expected(problem).check_runtime(lowered(problem, target), target)


def _resize(size: tuple[int, int], attributes: dict, declared: tuple) -> Problem:
    """ResizeBilinearV2Grad of (X, Y) positions along W."""
    x, y = size
    problem = Problem(seed=1, runs=1)
    grads = problem.add_input("dy", "f32", (1, 1, 1, declared[1]), [(1, 1, 1, y)])
    image = problem.add_input("image", "f32", (1, 1, 1, declared[0]), [(1, 1, 1, x)])
    result = problem.result("dx", "f32", image.declared, image.sizes)
    problem.nodes.append(Node(ResizeBilinearV2GradOp, (grads, image), attributes, result, None, ()))
    problem.outputs = [result]
    return problem


@pytest.mark.parametrize("declared", [(None, None), (300, None), (None, 170)])
@pytest.mark.parametrize("scale", [0.0, 0.6000000238418579, 5.17808198928833])
def test_coordinates_beyond_32_bits(scale: float, declared: tuple):
    """Numerators of run-time coordinates reach 2^40 where the user gave a scale."""
    attributes = {"half_pixel_centers": True, "scales": [0.0, scale]}
    problem = _resize((300, 170), attributes, declared)
    Expected(problem).check_runtime(lowered(problem, Target()), Target())


@pytest.mark.parametrize("size", [(700, 300), (300, 700), (129, 1000), (1000, 129), (640, 640)])
@pytest.mark.parametrize("mode", ["half_pixel_centers", "align_corners", "asymmetric"])
@pytest.mark.parametrize("scale", [0.0, 1.7])
def test_long_axes(size: tuple[int, int], mode: str, scale: float):
    """Long enough for lowerings that cut an axis into blocks."""
    attributes = {"scales": [0.0, scale]} | ({} if mode == "asymmetric" else {mode: True})
    problem = _resize(size, attributes, size)
    Expected(problem).check_runtime(lowered(problem, Target()), Target())
