"""Half types: a graph is computed in f32 from end to end, and rounds what leaves it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from support.examples import examples
from support.generate import KINDS, problems
from support.pipeline import apply
from support.problems import Problem, Value
from xdsl.dialects.builtin import TensorType

import gradc
from dialects.evaluate import evaluate
from dialects.onnx.ops import CastOp
from dialects.support.dtypes import HALVES, by_name, name_of
from passes import pipelines
from passes.targets.target import Target

HALF = ("f16", "bf16")


def widened(problem: Problem) -> Problem:
    """The same graph and data in f32."""

    def wide(value: Value) -> Value:
        return replace(value, dtype="f32") if value.dtype in HALVES else value

    def array(given: np.ndarray) -> np.ndarray:
        return given if given.dtype.kind in "iu" else given.astype(np.float32)

    return Problem(
        problem.seed,
        problem.runs,
        [wide(value) for value in problem.inputs],
        {name: [array(a) for a in arrays] for name, arrays in problem.given.items()},
        {name: (form, array(a)) for name, (form, a) in problem.constants.items()},
        [
            replace(node, operands=tuple(map(wide, node.operands)), result=wide(node.result))
            for node in problem.nodes
        ],
        [wide(value) for value in problem.outputs],
    )


@examples(80)
@given(problems(kinds=tuple(KINDS), dtypes=HALF, most_ops=4))
def test_what_leaves_is_the_f32_result_rounded_once(problem: Problem):
    """Bit for bit: no rounding lies in between, whatever is read inside and given out as well."""
    module = apply(problem.module(), pipelines.to_grad(Target(threads=1)))
    wide = apply(widened(problem).module(), pipelines.to_grad(Target(threads=1)))
    for run in range(problem.runs):
        with np.errstate(over="ignore", invalid="ignore"):
            rows = zip(
                evaluate(module, problem.feeds(run)), evaluate(wide, widened(problem).feeds(run)), strict=True
            )
            for got, want in rows:
                np.testing.assert_array_equal(got, want.astype(got.dtype))


@pytest.mark.sweep(parts=1)
@pytest.mark.parametrize("stage", [pipelines.to_grad, pipelines.lower])
def test_no_cast_reads_what_a_cast_narrowed(stage):
    @examples(40)
    @given(problems(kinds=tuple(KINDS), dtypes=HALF, most_ops=4))
    def check(problem: Problem):
        module = apply(problem.module(), stage(Target(threads=1)))
        casts = [op for op in module.walk() if isinstance(op, CastOp)]
        widening = [op for op in casts if name_of(_dtype(op.input.type)) in HALVES]
        assert not [op for op in widening if isinstance(op.input.owner, CastOp)]
        inputs = [op.input for op in widening]
        assert len(inputs) == len(set(inputs))

    check()


def _dtype(type_):
    assert isinstance(type_, TensorType)
    return type_.element_type


def _count(graph: gradc.Graph) -> Counter[str]:
    return Counter(node.op_type for node in gradc.compile(graph, threads=1).model.graph.node)


@pytest.mark.parametrize("dtype", HALF)
def test_a_chain_widens_once_and_narrows_once(dtype: str):
    graph = gradc.Graph()
    x = graph.input("x", dtype, (None, 8))
    for step in (graph.sigmoid, graph.tanh, graph.square, graph.mish, graph.hard_swish, graph.gelu):
        x = step(x)
    graph.output(x, "y")
    assert _count(graph)["Cast"] == 2


@pytest.mark.parametrize("dtype", HALF)
def test_a_product_and_norms_widen_their_inputs_alone(dtype: str):
    graph = gradc.Graph()
    x, weights = graph.input("x", dtype, (None, 8)), graph.input("w", dtype, (8, 8))
    bias, gamma = graph.input("b", dtype, (8,)), graph.input("g", dtype, (8,))
    product = graph.gelu(graph.matmul(x, weights, bias))
    turned = graph.static_transpose(graph.add(product, x), order=[1, 0])
    graph.output(graph.rms_norm(graph.static_transpose(turned, order=[1, 0]), gamma), "y")
    assert _count(graph)["Cast"] == 5


@pytest.mark.parametrize("dtype", HALF)
def test_a_move_alone_stays_half(dtype: str):
    graph = gradc.Graph()
    x, y = graph.input("x", dtype, (None, 8)), graph.input("y", dtype, (None, 8))
    graph.output(graph.static_transpose(graph.concat([x, y], axis=1), order=[1, 0]), "z")
    assert _count(graph)["Cast"] == 0


@pytest.mark.parametrize("dtype", HALF)
def test_type_cast_rounds_and_so_does_what_decides(dtype: str):
    """tanh(x) and a number next to it are equal in the half type, and not in f32."""
    graph = gradc.Graph()
    x, y = graph.input("x", dtype, (4,)), graph.input("y", dtype, (4,))
    steep = graph.tanh(x)
    graph.output(graph.greater_equal(y, steep), "decided")
    graph.output(graph.tanh(graph.type_cast(steep, result_dtype="f32")), "rounded")
    entry = by_name(dtype)
    assert entry is not None
    feed = np.array([0.3, 0.7, 1.1, 1.9]).astype(entry.numpy)
    near = np.tanh(feed.astype(np.float64)).astype(feed.dtype)
    got = gradc.compile(graph, threads=1).run({"x": feed, "y": near})
    assert got["decided"].all()
    np.testing.assert_allclose(got["rounded"], np.tanh(near.astype(np.float64)), rtol=1e-6)
