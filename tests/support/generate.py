"""Random problems of every op: all ranks, layouts, attributes, dtypes, static and dynamic."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from hypothesis import strategies as st
from support.conv_problems import ConvGenerator
from support.draw import Draw, HypothesisDraw, SeededDraw
from support.generator import DYNAMICS, STATIC
from support.pool_problems import PoolGenerator
from support.problems import Problem, Value
from support.resize_problems import ResizeGenerator
from support.weight_problems import WeightsGenerator

RUNS = 3
ONEDNN_DTYPES = ("f32", "bf16", "f16")


class OpGenerator(ConvGenerator, ResizeGenerator, WeightsGenerator, PoolGenerator):
    """One method per kind of op."""


KINDS: dict[str, Callable[[OpGenerator], Value]] = {
    "convolution": OpGenerator.convolution,
    "conv_transpose": OpGenerator.conv_transpose,
    "interpolate": OpGenerator.interpolate,
    "resize_v2": OpGenerator.resize_v2,
    "upsample": OpGenerator.upsample,
}


ASCEND = ("resize_v2", "upsample")


def _kinds_of(dtype: str, kinds: Sequence[str]) -> list[str]:
    return [kind for kind in kinds if dtype != "f64" or kind not in ASCEND]


CANONICAL: dict[str, Callable[[OpGenerator], Value]] = {
    "canonical_convolution": OpGenerator.canonical_convolution,
    "canonical_conv_transpose": OpGenerator.canonical_conv_transpose,
}
"""Ops that people write only in MLIR text: they have no documented kind."""

RARE: dict[str, Callable[[OpGenerator], Value]] = {
    "halved": OpGenerator.halved,
    "uneven": OpGenerator.uneven,
    "grouped_convolution": OpGenerator.grouped_convolution,
    "grouped_conv_transpose": OpGenerator.grouped_conv_transpose,
}
"""Problems that hardly come up among those of the kinds, and that a strategy is for."""

GRADIENTS: dict[str, Callable[[OpGenerator], Value]] = {
    "grad.conv_backward_weights": OpGenerator.weights_gradient,
    "grad.max_pool_backward": OpGenerator.max_pool_gradient,
    "grad.avg_pool_backward": OpGenerator.avg_pool_gradient,
}
"""By the name of a canonical op: problems of strategies that write nothing else."""

_DRAWN = KINDS | CANONICAL | RARE | GRADIENTS


def generate(
    draw: Draw,
    *,
    kinds: Sequence[str] = tuple(KINDS),
    dynamics: Sequence[str] = DYNAMICS,
    dtypes: Sequence[str] = ONEDNN_DTYPES,
    most_ops: int = 1,
) -> Problem:
    """A problem of one op, or a graph of several with shared values and several outputs."""
    dynamic = draw.choice(dynamics)
    runs = 1 if dynamic == STATIC else RUNS
    dtype = draw.choice([d for d in dtypes if _kinds_of(d, kinds)])
    kind = draw.choice(_kinds_of(dtype, kinds))
    problem = Problem(seed=draw.integer(0, 10**6), runs=runs)
    batches = tuple(draw.choice((1, 2, 3, 0)) for _ in range(runs))
    generator = OpGenerator(draw, dynamic, dtype, problem, batches)
    values = [_DRAWN[kind](generator)]
    for _ in range(draw.integer(0, most_ops - 1)):
        values.append(_another(generator, kinds, values))
    read = {v.name for node in problem.nodes for v in node.operands}
    problem.outputs = [v for v in values if v.name not in read or draw.choice((True, False))]
    return problem


MOST_ELEMENTS = 20_000


def _another(generator: OpGenerator, kinds: Sequence[str], values: Sequence[Value]) -> Value:
    """One more op: on an earlier result, on an earlier diff_dst, or on a new one."""
    draw, problem = generator.draw, generator.problem
    shared = [node.operands[node.diff_dst] for node in problem.nodes]
    dst = draw.choice((*values, *shared, None))
    fitting = _kinds_of(generator.dtype, kinds)
    if dst is not None:
        large = max(int(np.prod(size)) for size in dst.sizes) > MOST_ELEMENTS // 20
        if large or dst.dtype != generator.dtype:
            dst = None
        elif len(dst.declared) != 4:
            fitting = [kind for kind in fitting if kind not in ASCEND]
            dst = dst if fitting else None
    return _DRAWN[draw.choice(fitting or kinds)](generator, dst)  # pyright: ignore[reportCallIssue]


@st.composite
def problems(draw, **options) -> Problem:
    """`generate` as a hypothesis strategy."""
    return generate(HypothesisDraw(draw), **options)


def seeded(seed: int | Sequence[int], **options) -> Problem:
    """`generate` from a seed."""
    return generate(SeededDraw(seed), **options)
