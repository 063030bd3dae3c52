"""Arithmetic operations of a gradient, independent of its lowering."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from itertools import permutations
from math import prod

import numpy as np

from dialects.grad.resize import ResizeBackwardOp
from dialects.grad.sampling import AxisSampling, parts
from dialects.support import limits, shapes
from gradc.problems import (
    ConvBackwardDataProblem,
    ConvTransposeBackwardDataProblem,
    Problem,
    ResizeBackwardProblem,
)
from gradc.problems.derived import DerivedProblem


@singledispatch
def flops(problem: Problem) -> int | None:
    """Return multiplications plus additions of the gradient's sum; None for dynamic sizes.

    Terms cut off by pads count, as is usual; zero weights of a resize do not.
    """
    return None


@flops.register
def _(problem: ConvBackwardDataProblem) -> int | None:
    """Count one product of every position of diff_dst with every weight."""
    return _products(problem.diff_dst, problem.weights)


@flops.register
def _(problem: ConvTransposeBackwardDataProblem) -> int | None:
    """Count one product of every position of diff_src with every weight."""
    return _products(problem.diff_src, problem.weights)


@flops.register
def _(problem: DerivedProblem) -> int | None:
    return problem.flops


def _products(positions: shapes.Shape, weights: Sequence[int]) -> int | None:
    known = shapes.static(positions)
    return None if known is None else 2 * known[0] * prod(known[2:]) * prod(weights)


@flops.register
def _(problem: ResizeBackwardProblem) -> int | None:
    """Count the contraction of one axis after another in the cheapest order, nonzeros of M only."""
    known = shapes.static(problem.diff_dst)
    if known is None or max(known) > limits.current().axis_positions:
        return None
    (op,) = (op for op in problem.module().walk() if isinstance(op, ResizeBackwardOp))
    axes = [(sampling.x, sampling.y, _factors(sampling)) for sampling in op.samplings]
    return min(_in_order(prod(known), order) for order in permutations(axes))


def _factors(sampling: AxisSampling) -> int:
    taps = map(sampling.taps, parts(range(sampling.y)))
    return sum(int(np.count_nonzero(fraction > 0)) for _, _, fraction in taps) + sampling.y


def _in_order(elements: int, axes: Sequence[tuple[int, int, int]]) -> int:
    """Count the contraction of `elements` of diff_dst along axes of (x, y, nonzeros)."""
    found = 0
    for x, y, factors in axes:
        elements //= y
        found += 2 * elements * factors
        elements *= x
    return found
