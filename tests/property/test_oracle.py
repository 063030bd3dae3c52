"""The reference semantics against forward ops that are written independently of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from support.compare import TOLERANCES
from support.examples import examples
from support.generate import CANONICAL, GRADIENTS, KINDS, problems
from support.pipeline import lowered
from support.problems import Node, Problem, random_array

from dialects.evaluate import evaluate
from dialects.onnx.numpy import round_to
from dialects.onnx.ops import CastOp, ConstantOp
from dialects.support import dtypes
from passes.targets.target import Target

# float64 where the op admits it: the products then agree to many digits
EXACT = ("f64", "f32")


def _arrays(problem: Problem, run: int) -> dict[str, np.ndarray]:
    named = {value.name: array for value, array in zip(problem.inputs, problem.feeds(run), strict=True)}
    return named | {name: array for name, (_, array) in problem.constants.items()}


def _float64(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64)


def _check_dot_product(problem: Problem, node: Node, run: int, gradient: np.ndarray) -> None:
    """<dy, F x> == <B dy, x> for a random x, within the rounding of B dy to its dtype."""
    arrays = _arrays(problem, run)
    dy = _float64(arrays[node.operands[node.diff_dst].name])
    x = _float64(random_array([problem.seed, 7, run], "f64", gradient.shape))
    weights = [] if node.weights is None else [arrays[node.operands[node.weights].name]]
    y = node.forward[run](x, *weights)
    assert y.shape == dy.shape
    dtype = dtypes.of_numpy(gradient.dtype)
    assert dtype is not None
    products = _float64(gradient) * x
    rounding = 2.0 ** -TOLERANCES[dtype.name].bits
    allowed = rounding * np.abs(products).sum() + 1e-12 * np.abs(dy * y).sum() + 1e-30
    assert abs((dy * y).sum() - products.sum()) <= allowed


@pytest.mark.sweep(parts=1)
@pytest.mark.parametrize("kind", [*KINDS, *CANONICAL, *GRADIENTS])
def test_reference_is_the_transpose_of_the_forward_op(kind: str):
    @examples(60)
    @given(problems(kinds=(kind,), dtypes=EXACT))
    def check(problem: Problem):
        module = problem.module()
        problem.outputs = [problem.nodes[0].result]
        for run in range(problem.runs):
            (gradient,) = evaluate(module, problem.feeds(run))
            assert gradient.shape == problem.nodes[0].result.sizes[run]
            _check_dot_product(problem, problem.nodes[0], run, gradient)

    check()


@pytest.mark.sweep(parts=1)
@pytest.mark.parametrize("kind", [*KINDS, *CANONICAL])
def test_half_types_are_the_wide_result_rounded_once(kind: str):
    """The reference of a half type is bit for bit the float64 sum of products, rounded."""

    @examples(25)
    @given(problems(kinds=(kind,), dtypes=("bf16", "f16")))
    def check(problem: Problem):
        node = problem.nodes[0]
        for run in range(problem.runs):
            (half,) = evaluate(problem.module(), problem.feeds(run))
            arrays = _arrays(problem, run)
            weights = [] if node.weights is None else [arrays[node.operands[node.weights].name]]
            dy = _float64(arrays[node.operands[node.diff_dst].name])
            wide = _transpose(node, run, half.shape, weights, dy)
            # the two float64 sums may fall on two sides of a tie
            nudge = 1e-12 * np.abs(wide) + 1e-300
            below, above = round_to(wide - nudge, half.dtype), round_to(wide + nudge, half.dtype)
            cancelled = np.abs(wide) < 1e-10
            assert np.all((half == below) | (half == above) | cancelled)

    check()


def _transpose(node: Node, run: int, shape: tuple[int, ...], weights: list, dy: np.ndarray) -> np.ndarray:
    """B dy from F alone: entry i is <dy, F e_i>, over all unit vectors at once where N is small."""
    result = np.zeros(shape)
    if result.size == 0:
        return result
    # F acts on each batch entry by itself, so one unit vector serves the whole batch
    for index in np.ndindex(shape[1:]):
        unit = np.zeros(shape)
        unit[(slice(None), *index)] = 1
        products = (dy * node.forward[run](unit, *weights)).reshape(shape[0], -1)
        result[(slice(None), *index)] = products.sum(axis=1)
    return result


@examples(100)
@given(problems(kinds=("interpolate", "resize_v2", "upsample"), dtypes=("f64", "f32")))
def test_a_linear_resize_keeps_the_sum(problem: Problem):
    """The weights of every output position add up to one, for nearest, too."""
    for run in range(problem.runs):
        (gradient,) = evaluate(problem.module(), problem.feeds(run))
        arrays = _arrays(problem, run)
        node = problem.nodes[0]
        dy = _float64(arrays[node.operands[node.diff_dst].name])
        dtype = dtypes.of_numpy(gradient.dtype)
        assert dtype is not None
        rounding = 2.0 ** -TOLERANCES[dtype.name].bits
        difference = _float64(gradient).sum() - dy.sum()
        assert abs(difference) <= rounding * np.abs(_float64(gradient)).sum() + 1e-10


@examples(60)
@given(problems(kinds=("interpolate", "resize_v2", "upsample"), dynamics=("static", "batch")))
def test_resizing_to_the_same_size_is_the_identity_and_costs_nothing(problem: Problem):
    node = problem.nodes[0]
    dst = node.operands[node.diff_dst]
    given_scale = any(s > 0 for name in ("scales",) for s in node.attributes.get(name, ()))
    given_scale |= any(node.attributes.get(name, 0) > 0 for name in ("scalesH", "scalesW"))
    if dst.sizes != node.result.sizes or (given_scale and "Interpolate" not in node.op.KIND):
        return
    feeds = problem.feeds(0)
    (gradient,) = evaluate(problem.module(), feeds)
    (dy,) = (a for v, a in zip(problem.inputs, feeds, strict=True) if v is dst)
    assert np.array_equal(gradient, dy.astype(gradient.dtype))
    function = next(iter(lowered(problem, Target()).ops))
    left = [op for op in function.walk() if op.name.startswith("onnx.")]
    assert all(isinstance(op, CastOp | ConstantOp) for op in left)
    assert not left or gradient.dtype != dy.dtype
