"""Denormal numbers, signed zeros, and the largest f16 numbers, through every strategy on onnxruntime."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np
import pytest

from gradc.compiler.compiled import Compiled
from gradc.compiler.driver import compile_module
from gradc.compiler.options import Options
from gradc.problems import parse_problem
from gradc.problems.base import Problem
from passes.strategies import all_strategies

pytest.importorskip("onnxruntime")

PROBLEMS = (
    "conv_backward_data,DTYPE,NCX,diff_dst=1x16x6x6,weights=16x16x3x3,pads=1x1:1x1,weights_are=input",
    "conv_backward_data,DTYPE,NXC,diff_dst=1x4x6x6,weights=4x4x3x3,strides=2x2,pads=1x1:1x1,weights_are=input",
    "conv_backward_data,DTYPE,NCX,diff_dst=1x4x6x6,weights=4x4x2x2,strides=2x2,weights_are=input",
    "conv_backward_data,DTYPE,NXC,diff_dst=1x16x4x4,weights=16x4x3x3,pads=1x1:1x1,groups=4,weights_are=input",
    "conv_backward_data,DTYPE,NCX,diff_dst=1x4x9,weights=4x4x3,pads=1:1,weights_are=input",
    "conv_backward_data,DTYPE,NXC,diff_dst=1x4x4x5x6,weights=4x4x3x2x3,pads=1x0x1:1x1x1,weights_are=input",
    "conv_transpose_backward_data,DTYPE,NCX,diff_dst=1x4x6x6,weights=4x4x2x2,strides=2x2,weights_are=input",
    "conv_transpose_backward_data,DTYPE,NXC,diff_dst=1x4x9,weights=4x4x3,pads=1:1,weights_are=input",
    "conv_backward_weights,DTYPE,NCX,diff_dst=1x4x6x6,src=1x4x6x6,kernel=3x3,pads_begin=1x1,pads_end=1x1",
    "conv_backward_weights,DTYPE,NXC,diff_dst=1x4x3,src=1x8x6,kernel=2,strides=2,groups=2",
    "conv_backward_weights,DTYPE,NXC,diff_dst=1x4x5x5,src=1x4x6x6,kernel=2x2",
    "conv_backward_weights,DTYPE,NCX,diff_dst=1x4x5x5,src=1x4x6x6,kernel=2x2,groups=4",
    "max_pool_backward,DTYPE,NCX,diff_dst=1x4x3x3,src=1x4x6x6,kernel=2x2,strides=2x2",
    "avg_pool_backward,DTYPE,NCX,diff_dst=1x4x3x3,kernel=2x2,strides=2x2",
    "avg_pool_backward,DTYPE,NCX,diff_dst=1x4x4x4,kernel=2x2,pads_begin=1x0",
    "avg_pool_backward,DTYPE,NXC,diff_dst=1x4x3x3,kernel=4x4,strides=2x2",
    "resize_backward,DTYPE,NCX,diff_dst=1x4x8x8,diff_src=1x4x4x4",
    "resize_backward,DTYPE,NCX,diff_dst=1x4x8x8,diff_src=1x4x4x4,interpolation=nearest_floor,coordinates=corner",
    "resize_backward,DTYPE,NCX,diff_dst=1x4x4x4,diff_src=1x4x8x8",
    "resize_backward,DTYPE,NXC,diff_dst=1x4x8x8,diff_src=1x4x4x4",
    "resize_backward,DTYPE,NXC,diff_dst=1x4x8x8,diff_src=1x4x6x6,interpolation=nearest_floor,coordinates=corner",
)
"""Sampling weights are quarters, so that what is computed of small whole numbers is exact."""

UNITS = {"f32": 2.0**-149, "f16": 2.0**-24, "bf16": 2.0**-133}
NUMPY = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}


def compiled(dtype: str, strategy: str) -> Iterator[tuple[Problem, Compiled]]:
    """The problems that a strategy takes."""
    (kind,) = (s for s in all_strategies() if s.name == strategy)
    options = Options(strategy=strategy, threads=2, strict_ieee=kind.strict_only)
    for text in PROBLEMS:
        problem = parse_problem(text.replace("DTYPE", dtype))
        (op,) = (op for op in problem.module().walk() if isinstance(op, problem.OP))
        wide = parse_problem(text.replace("DTYPE", "f32"))
        (request,) = (op for op in wide.module().walk() if isinstance(op, wide.OP))
        if isinstance(op, kind.ops) and not kind().refusal(request, options.resolve_target()):
            yield problem, compile_module(problem.module(), options)


def whole_numbers(problem: Problem, unit: float) -> dict[str, np.ndarray]:
    """diff_dst of small multiples of 16 units, weights of -2 to 2."""
    rng = np.random.default_rng(1)
    found = {}
    for name, array in problem.feeds().items():
        numbers = rng.integers(-2, 3, array.shape) * (16 * unit if name == "diff_dst" else 1.0)
        found[name] = numbers.astype(array.dtype)
    return found


NAMES = [s.name for s in all_strategies() if s.name not in ("window-to-slice",) and "dynamic" not in s.name]


@pytest.mark.sweep
@pytest.mark.parametrize("dtype", UNITS)
@pytest.mark.parametrize("name", NAMES)
def test_denormal_numbers_are_not_flushed(name: str, dtype: str):
    """Sums of whole multiples of the smallest number are exact: a single one taken for 0 is seen."""
    seen = 0
    for problem, model in compiled(dtype, name):
        small, ordinary = whole_numbers(problem, UNITS[dtype]), whole_numbers(problem, 1.0)
        (got,), (want,) = model.run(small).values(), model.run(ordinary).values()
        np.testing.assert_array_equal(got.astype(np.float64), want.astype(np.float64) * UNITS[dtype])
        seen += np.count_nonzero(want)
    assert seen


@pytest.mark.sweep
@pytest.mark.parametrize("name", NAMES)
def test_the_sign_of_a_zero_changes_no_number(name: str):
    """-0.0 in place of 0.0 gives equal results; which sign a zero among them has is not promised."""
    for problem, model in compiled("f32", name):
        fed = whole_numbers(problem, 1.0)
        other = {key: np.where(array == 0, np.float32(-0.0), array) for key, array in fed.items()}
        (got,), (want,) = model.run(other).values(), model.run(fed).values()
        np.testing.assert_array_equal(got, want)


@pytest.mark.sweep
@pytest.mark.parametrize("name", NAMES)
def test_the_largest_f16_numbers(name: str):
    """Accumulated in f32: what cancels is finite, and what is beyond 65504 is inf, by one rounding."""
    top = float(np.finfo(np.float16).max)
    for problem, model in compiled("f16", name):
        feeds = problem.feeds()
        shape = feeds["diff_dst"].shape
        signs = np.where(np.indices(shape).sum(0) % 2, -1.0, 1.0)
        ones = {key: np.ones_like(array) for key, array in feeds.items()}
        (terms,) = model.run(ones).values()
        (total,) = model.run(ones | {"diff_dst": np.full(shape, top, np.float16)}).values()
        np.testing.assert_array_equal(np.isinf(total), terms.astype(np.float64) * top >= 65520)
        (mixed,) = model.run(ones | {"diff_dst": (signs * top).astype(np.float16)}).values()
        (count,) = model.run(ones | {"diff_dst": signs.astype(np.float16)}).values()
        np.testing.assert_array_equal(np.isinf(mixed), np.abs(count.astype(np.float64)) * top >= 65520)
