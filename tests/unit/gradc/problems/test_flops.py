"""The arithmetic of gradients, counted term by term."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples

from dialects.grad.resize import ResizeBackwardOp
from gradc.problems import parse_problem
from gradc.problems.flops import flops


@examples(30)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 2), st.integers(1, 4), st.integers(1, 3))
def test_convolutions(n: int, out: int, groups: int, y: int, k: int):
    """A term for every image, position of the smaller side, kernel position and pair of channels."""
    per_group = 2
    terms = sum(1 for _ in product(range(n), range(y), range(k), range(out * groups), range(per_group)))
    weights = f"{out * groups}x{per_group}x{k}"
    backward = f"conv_backward_data,f32,NXC,diff_dst={n}x{out * groups}x{y},weights={weights},groups={groups}"
    assert flops(parse_problem(backward)) == 2 * terms
    larger = y + k - 1  # diff_dst of which y windows are taken
    transpose = (
        f"conv_transpose_backward_data,f32,NCX,diff_dst={n}x{per_group * groups}x{larger},weights={weights},"
        f"groups={groups}"
    )
    assert flops(parse_problem(transpose)) == 2 * terms


def test_strides_and_pads_change_nothing_but_positions():
    plain = "conv_backward_data,f32,NCX,diff_dst=1x4x5x5,weights=4x3x3x3"
    assert flops(parse_problem(plain)) == flops(parse_problem(f"{plain},strides=2x2,pads=1x1:1x1")) == 5400


@pytest.mark.parametrize(
    "text",
    [
        "resize_backward,f32,NCX,diff_dst=2x3x8,diff_src=2x3x4",
        "resize_backward,f32,NCX,diff_dst=2x3x4,diff_src=2x3x9",
        "resize_backward,f32,NXC,diff_dst=2x3x7,diff_src=2x3x3,interpolation=nearest_floor",
        "resize_backward,f32,NCX,diff_dst=2x3x8,diff_src=2x3x5,coordinates=align_corners",
    ],
)
def test_one_axis_is_the_nonzeros_of_its_matrix(text: str):
    problem = parse_problem(text)
    (op,) = (op for op in problem.module().walk() if isinstance(op, ResizeBackwardOp))
    (sampling,) = op.samplings
    assert flops(problem) == 2 * 6 * np.count_nonzero(sampling.matrix())


def test_axes_are_taken_in_the_better_order():
    problem = parse_problem("resize_backward,f32,NCX,diff_dst=1x1x8x6,diff_src=1x1x4x12")
    (op,) = (op for op in problem.module().walk() if isinstance(op, ResizeBackwardOp))
    rows, columns = (np.count_nonzero(sampling.matrix()) for sampling in op.samplings)
    assert flops(problem) == min(2 * rows * 6 + 2 * columns * 4, 2 * columns * 8 + 2 * rows * 12)


@pytest.mark.parametrize(
    "text",
    [
        "conv_backward_data,f32,NCX,diff_dst=?x4x5x5,weights=4x3x3x3",
        "conv_transpose_backward_data,f32,NCX,diff_dst=1x3x?x5,weights=4x3x3x3",
        "resize_backward_dynamic,f32,NCX,diff_dst=1x3x4x4",
    ],
)
def test_unknown_sizes(text: str):
    assert flops(parse_problem(text)) is None
