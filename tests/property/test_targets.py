"""Every target, opset, strictness, strategy and op: refused with a reason, or compiled to the right numbers.

The everyday run takes a few problems of each setting, always the same ones; the heavy one many.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

import numpy as np
import pytest
from support.generate import CANONICAL, KINDS, RARE, seeded
from support.pipeline import Expected, apply, lowered
from support.tiers import some

from dialects.evaluate import evaluate
from dialects.grad.resize import ResizeBackwardDynamicOp, ResizeBackwardOp
from dialects.grad.tunable import TunableOp
from dialects.onnx.opsets import OLDEST
from dialects.support.diagnostics import UnsupportedError
from gradc.problems import parse_problem
from passes import pipelines
from passes.kernel_tables import newest_opset
from passes.strategies import by_name
from passes.strategies.choice import AUTO
from passes.targets import TARGETS
from passes.targets.target import Target

SETTINGS = tuple(itertools.product(range(OLDEST, newest_opset() + 1), (False, True)))
"""Opset and strictness."""

DTYPES = ("f32", "f32", "f16", "bf16", "f64")

LAST_CUDA = 23
"""From the next opset on Reshape has no CUDA kernel, and hardly anything can be written."""

ASKED = re.compile(
    r"no strategy applies on \w+: | does not apply: | which the graph does not contain| is avoided on \w+: "
)
BEFORE = re.compile(r"\[onnx\.(Cast|Shape|Reshape|Transpose) \"op1\"\] \w+ has no kernel for ")
"""How strategies refuse, and what is left to the final contract: ops that were there before strategies."""

NO_FORM = re.compile(r"OpenVINO keeps 32 bits of an s64|bf16 is avoided on tract: tract lacks it")
"""Why an op is refused that any strategy may write."""

RESIZES = (ResizeBackwardOp, ResizeBackwardDynamicOp)
RESIZE_KINDS = ("interpolate", "resize_v2", "upsample", "halved", "uneven")
CONV_KINDS = tuple(kind for kind in (*KINDS, *CANONICAL, *RARE) if kind not in RESIZE_KINDS)

shares = pytest.mark.parametrize(
    "share", [pytest.param(2, id="everyday"), pytest.param(16, id="all", marks=pytest.mark.heavy)]
)
"""Problems of each setting."""


def refusal(seed: int, target: Target, strategy: str, kinds: Sequence[str]) -> str | None:
    """Lower a problem, which is to give the reference's numbers, or to be refused: then the lines."""
    problem = seeded([31, seed], dtypes=DTYPES, kinds=kinds)
    what = f"seed {seed}, {strategy} on {target}"
    try:
        module = lowered(problem, target, strategy)
    except UnsupportedError as error:
        text = str(error)
        for line in text.splitlines():
            assert ASKED.search(line) or BEFORE.search(line), (what, line)
        return text
    Expected(problem).check_module(module, what)
    return None


@pytest.mark.sweep(parts=1)
@shares
@pytest.mark.parametrize("target", TARGETS)
def test_what_is_chosen(target: str, share: int):
    """Refused is only what has no form on the target at all."""
    for i, (opset, strict) in some(enumerate(SETTINGS * share)):
        env = Target(target, opset, threads=1, strict_ieee=strict)
        reason = refusal(i, env, AUTO, (*RESIZE_KINDS, *CONV_KINDS))
        if target != "cuda" or opset <= LAST_CUDA:
            assert reason is None or NO_FORM.search(reason), (i, env, reason)


@pytest.mark.sweep(parts=1)
@shares
@pytest.mark.parametrize("target", TARGETS)
def test_each_strategy(target: str, share: int):
    """Of the ops that are drawn here; tests/property/test_strategies.py has those of others."""
    agreed: set[str] = set()
    drawn = [(name, known) for name, known in by_name().items() if not issubclass(known.ops[0], TunableOp)]
    settings = SETTINGS * share
    taken = some(enumerate(settings), 4)
    for i, (opset, strict) in taken:
        # rounds are shifted, or some strategies would meet strict targets only
        name, strategy = drawn[(i + i // len(SETTINGS)) % len(drawn)]
        kinds = RESIZE_KINDS if issubclass(strategy.ops[0], RESIZES) else CONV_KINDS
        env = Target(target, opset, threads=1, strict_ieee=strict)
        if refusal(1000 + i, env, name, kinds) is None:
            agreed.add(name)
    assert len(agreed) >= (8 if share < 16 else 16) * len(taken) / len(settings), agreed


SIZES = ("2x3x8x8 2x3x4x4", "2x3x2x2 2x3x4x4", "2x3x5x3 2x3x3x5", "2x3x1x7 2x3x4x7", "?x3x6x9 ?x3x4x3")
"""diff_dst and diff_src: enlarged, shrunk, both, one axis kept, with a batch of run time."""


@pytest.mark.sweep
@pytest.mark.parametrize("opset", [OLDEST, 18, 19, 20, LAST_CUDA])
@pytest.mark.parametrize("coordinates", ["half_pixel", "align_corners"])
@pytest.mark.parametrize("layout", ["NCX", "NXC"])
def test_a_strict_linear_resize_of_two_axes(opset: int, coordinates: str, layout: str):
    """Every axis has a form, also from opset 19 on, where CUDA has no Pad."""
    target = Target("cuda", opset, threads=1, strict_ieee=True)
    for dst, src in map(str.split, SIZES):
        problem = parse_problem(
            f"resize_backward,f32,{layout},diff_dst={dst},diff_src={src},coordinates={coordinates}"
        )
        data = list(problem.feeds().values())
        want = evaluate(problem.module(), data)
        got = evaluate(apply(problem.module(), pipelines.lower(target)), data)
        np.testing.assert_allclose(got[0], want[0], rtol=1e-5, atol=1e-5)
