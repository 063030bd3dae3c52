"""Sums of very many terms are as right as others on onnxruntime, which adds some one after the other."""

import numpy as np
import pytest

import gradc
from gradc.verification.verify import RTOL
from passes.builder.long_sums import MOST_TERMS

SUMS = {
    "reduce_sum": lambda x, axes: x.sum(axes),
    "reduce_mean": lambda x, axes: x.mean(axes),
    "reduce_l1": lambda x, axes: np.abs(x).sum(axes),
    "reduce_l2": lambda x, axes: np.sqrt(np.square(x).sum(axes)),
}


def compiled(kind: str, shape: list[int], axes: list[int], keep_dims: bool) -> gradc.Compiled:
    g = gradc.Graph()
    g.output(getattr(g, kind)(g.input("x", "f32", shape), axes=axes, keep_dims=keep_dims), "y")
    return gradc.compile(g, threads=1)


@pytest.mark.sweep
@pytest.mark.parametrize("kind", SUMS)
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        pytest.param([2**21, 1], [0], id="one column"),
        pytest.param([2**20 + 7], [0], id="a prime"),
        pytest.param([2, 2**20, 2], [-2, 0], id="two axes"),
        pytest.param([1025, 2, 1023], [0, 2], id="no axis is long"),
    ],
)
def test_is_right(kind: str, shape: list[int], axes: list[int]):
    x = np.random.default_rng(0).uniform(0.5, 1.5, shape).astype(np.float32)
    for keep_dims in (False, True):
        (got,) = compiled(kind, shape, axes, keep_dims).run({"x": x}).values()
        want = SUMS[kind](x.astype(np.float64), tuple(axes))
        assert got.shape == (np.expand_dims(want, tuple(axes)) if keep_dims else want).shape
        assert np.abs(got.reshape(want.shape) / want - 1).max() < RTOL["f32"] / 10


@pytest.mark.parametrize("shape", [[MOST_TERMS, 3], ["N", 3]])
def test_the_rest_is_one_op(shape: list[int]):
    assert [node.op_type for node in compiled("reduce_sum", shape, [0], False).model.graph.node] == [
        "ReduceSum"
    ]


def test_statistics_of_a_volume_are_right():
    g = gradc.Graph()
    x = g.input("x", "f32", [1, 2, 2**21])
    _, mean, variance = g.group_norm(x, groups=2, use_affine=False, data_format="NCX")
    g.output(mean, "mean")
    g.output(variance, "variance")
    array = np.random.default_rng(0).uniform(0.5, 3.5, (1, 2, 2**21)).astype(np.float32)
    got = gradc.compile(g, threads=1).run({"x": array})
    exact = array.astype(np.float64)
    assert np.abs(got["mean"] / exact.mean(2) - 1).max() < RTOL["f32"] / 10
    assert np.abs(got["variance"] / exact.var(2) - 1).max() < RTOL["f32"] / 10
