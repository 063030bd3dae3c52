"""What a static graph is refused for, a run, the reference and a checked model are refused for.

Every kind that is a row, with sizes that contradict.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest
from support.contradictions import refusal
from support.spec_problems import SpecProblem, draw, slots

import gradc
from dialects.onednn.spec_classes import KINDS
from gradc.runtime.session import Session

pytest.importorskip("onnxruntime")

RUNS = 3
SEEDS = 2

WITHOUT_SHAPE = ("f8_e4m3", "f8_e5m2", "u4", "s4")
"""Dtypes of which onnxruntime cannot tell a shape: a checked model is refused, not written without checks."""


def unwatched(compiled: gradc.Compiled) -> Session:
    """The model on onnxruntime alone: without the graph, gradc does not look at sizes before it runs."""
    model = type(compiled.model).FromString(compiled.model.SerializeToString())
    del model.metadata_props[:]
    return Session(model, threads=1)


def disturbed(problem: SpecProblem, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """The arrays with one size of one operand changed, and perhaps a second one."""
    feeds = list(problem.feeds)
    for _ in range(int(rng.integers(1, 3))):
        places = [
            (index, axis)
            for index, (_, shape) in enumerate(problem.declared)
            for axis, dim in enumerate(shape)
            if dim is None
        ]
        index, axis = places[rng.integers(len(places))]
        shape = list(feeds[index].shape)
        shape[axis] = max(0, shape[axis] + int(rng.choice([-2, -1, 1, 2, 3])))
        feeds[index] = (
            np.resize(feeds[index], shape) if feeds[index].size else np.ones(shape, feeds[index].dtype)
        )
    return tuple(feeds)


def static(problem: SpecProblem, feeds: tuple[np.ndarray, ...]) -> SpecProblem:
    rows = zip(problem.declared, feeds, strict=True)
    return replace(problem, declared=tuple((dtype, array.shape) for (dtype, _), array in rows), feeds=feeds)


def check(kind: str, seed: int, **options: Any) -> list[str | None]:
    """The refusals of runs with random sizes, which are those of the static graph with these."""
    rng = np.random.default_rng([seed, *kind.encode()])
    dtypes = [dtype for dtype, dynamic in slots(kind) if dynamic]
    dtype = str(rng.choice(dtypes))
    problem = draw(kind, dtype, True, rng)
    try:
        compiled = gradc.compile(problem.module(), threads=1, **options)
    except gradc.UnsupportedError:
        return []
    try:
        session = unwatched(gradc.compile(problem.module(), threads=1, checked=True, **options))
    except gradc.UnsupportedError:
        if dtype not in WITHOUT_SHAPE:
            raise
        return [None]
    found: list[str | None] = []
    for run in range(RUNS):
        feeds = disturbed(problem, rng) if run else problem.feeds
        named = dict(zip(problem.names, feeds, strict=True))
        wanted = refusal(static(problem, feeds).module)
        context = (problem.kind, problem.attributes, [array.shape for array in feeds], wanted)
        assert refusal(lambda named=named: compiled.run(named)) == wanted, context
        assert refusal(lambda named=named: compiled.reference(named)) == wanted, context
        found.append(wanted)
        if wanted is not None:
            assert refusal(lambda named=named: session.run(named)) is not None, context
            continue
        for name, array in session.run(named).items():
            np.testing.assert_array_equal(array, compiled.run(named)[name], str(context))
    return found


@pytest.mark.sweep
@pytest.mark.parametrize("kind", KINDS)
def test_what_a_static_graph_is_refused_for_a_run_is_refused_for(kind: str):
    """Some problems of some kinds have no lowering."""
    runs = (check(kind, seed) for seed in range(4 * SEEDS))
    assert sum(1 for _ in islice(filter(None, runs), SEEDS)) == SEEDS


def test_contradictions_are_drawn():
    """Of the kinds whose operands have sizes in common."""
    for kind in ("MatMul", "ReLUBackward", "MaxPoolBackward", "BiasAdd"):
        assert any(any(check(kind, seed)) for seed in range(SEEDS)), kind


@pytest.mark.heavy
@pytest.mark.parametrize(
    "options", [{}, {"opset": 13}, {"target": "portable"}, {"strict_ieee": True}], ids=str
)
@pytest.mark.parametrize("kind", KINDS)
def test_more_of_them(kind: str, options: dict[str, Any]):
    for seed in range(SEEDS, 12):
        check(kind, seed, **options)


def given(**arrays: Any) -> dict[str, np.ndarray]:
    """Data of a shape, and sizes as they are."""
    return {
        name: np.ones(value, np.float32) if isinstance(value, tuple) else np.array(value, np.int32)
        for name, value in arrays.items()
    }


def interpolated(g: gradc.Graph) -> gradc.Value:
    src = g.input("src", "f32", ["N", 2, None, 4])
    return g.interpolate(src, g.input("sizes", "s32", [2]), mode="linear", data_format="NCX")


def reduced(g: gradc.Graph) -> gradc.Value:
    return g.reduce_sum(g.input("src", "f32", ["N", None, 4]), g.input("axes", "s32", [2]), keep_dims=True)


def averaged(g: gradc.Graph) -> gradc.Value:
    diff_dst, shape = g.input("diff_dst", "f32", ["N", 2, None]), g.input("shape", "s32", [3])
    window: Any = {"strides": [2], "kernel": [3], "pads_begin": [1], "pads_end": [1], "exclude_pad": True}
    return g.avg_pool_backward(diff_dst, shape, data_format="NCX", **window)


def weights(g: gradc.Graph) -> gradc.Value:
    src, diff_dst = g.input("src", "f32", ["N", 2, None]), g.input("diff_dst", "f32", ["N", 4, None])
    window: Any = {"strides": [1], "dilations": [1], "pads_begin": [0], "pads_end": [0]}
    shape = g.input("shape", "s32", [3])
    formats: Any = {"data_format": "NCX", "weights_format": "OIX", "result_shape": [4, 2, 3]}
    return g.convolution_backward_weights(src, diff_dst, shape, **window, **formats)


def chained(g: gradc.Graph) -> gradc.Value:
    """Sizes of results are expressions in those of the inputs."""
    x, w = g.input("x", "f32", ["N", 2, "H"]), g.input("w", "f32", [3, 2, 3])
    window: Any = {"strides": [2], "pads_begin": [1], "pads_end": [1], "data_format": "NCX"}
    made = g.convolution(x, w, dilations=[1], weights_format="OIX", **window)
    pooled = g.max_pool(made, kernel=[3], rounding_type="ceil", **window)
    flat = g.static_reshape(pooled, shape=[0, -1], special_zero=True)
    return g.matmul(g.add(flat, g.input("bias", "f32", [None])), g.input("v", "f32", [None, 5]))


@pytest.mark.parametrize(
    ("graph", "legal", "contradictions"),
    [
        (
            interpolated,
            [given(src=(1, 2, 3, 4), sizes=[5, 6])],
            [given(src=(1, 2, 3, 4), sizes=[0, 6]), given(src=(1, 2, 3, 4), sizes=[5, -1])],
        ),
        (
            reduced,
            [given(src=(1, 2, 4), axes=[0, -1]), given(src=(1, 2, 4), axes=[-1, 1])],
            [given(src=(1, 2, 4), axes=[2, -1]), given(src=(1, 2, 4), axes=[1, 3])],
        ),
        (
            averaged,
            [given(diff_dst=(1, 2, 4), shape=[1, 2, 7]), given(diff_dst=(0, 2, 4), shape=[0, 2, 8])],
            [given(diff_dst=(1, 2, 4), shape=[1, 2, x]) for x in (4, -7, 12)]
            + [given(diff_dst=(1, 2, 4), shape=[n, c, 7]) for n, c in ((2, 2), (1, 3), (-1, 2))],
        ),
        (
            weights,
            [given(src=(1, 2, 7), diff_dst=(1, 4, 5), shape=[4, 2, 3])],
            [given(src=(1, 2, 7), diff_dst=(1, 4, 5), shape=shape) for shape in ([4, 2, 2], [2, 4, 3])]
            + [given(src=(1, 2, 7), diff_dst=(1, 4, 6), shape=[4, 2, 3])],
        ),
        (
            chained,
            [given(x=(2, 2, 9), w=(3, 2, 3), bias=bias, v=(9, 5)) for bias in ((9,), (1,))],
            [
                given(x=(2, 2, 9), w=(3, 2, 3), bias=(9,), v=(8, 5)),
                given(x=(2, 2, 9), w=(3, 2, 3), bias=(8,), v=(9, 5)),
                given(x=(2, 2, 12), w=(3, 2, 3), bias=(9,), v=(9, 5)),
                given(x=(2, 2, 0), w=(3, 2, 3), bias=(1,), v=(0, 5)),
            ],
        ),
    ],
    ids=["interpolated", "reduced", "averaged", "weights", "chained"],
)
def test_inputs_that_are_sizes_and_sizes_of_results(graph: Any, legal: Any, contradictions: Any):
    g = gradc.Graph()
    g.output(graph(g), "y")
    compiled, session = gradc.compile(g), unwatched(gradc.compile(g, checked=True))
    for fed in legal:
        np.testing.assert_array_equal(session.run(fed)["y"], compiled.run(fed)["y"])
    for fed in contradictions:
        words = refusal(lambda fed=fed: compiled.run(fed))
        assert words is not None, fed
        assert refusal(lambda fed=fed: compiled.reference(fed)) == words
        with pytest.raises(gradc.GradcError, match="sizes contradict"):
            session.run(fed)
