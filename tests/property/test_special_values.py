"""inf and NaN reach the results that the op connects them with, and under `strict_ieee` no others.

What is connected is said by the reference: docs/numbers.md. A strategy needs no test code of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from support.examples import EXAMPLES
from support.generate import CANONICAL, GRADIENTS, KINDS, RARE, seeded
from support.pipeline import apply
from support.problems import Problem
from support.specials import pattern, with_specials
from support.tiers import Tier, some
from xdsl.dialects.builtin import ModuleOp

import gradc
from dialects.evaluate import evaluate
from dialects.support.entry import entry_function, input_names
from gradc.model.exporter import export
from gradc.problems import parse_problem
from gradc.runtime.session import Session
from passes import pipelines
from passes.strategies import all_strategies, by_name, strategies_of
from passes.strategies.base import Strategy
from passes.targets.target import Target

STRICT, LOOSE = Target(strict_ieee=True), Target()
COMMON = 800 * EXAMPLES
POOL = COMMON + 300 * EXAMPLES
"""Problems of all kinds, and rare ones."""
LEAST = 5
"""How many problems a strategy must have been right on, or how many an op's declaration is looked for in."""
MOST = 15 * EXAMPLES

ALWAYS_MIX = {
    "max-pool-to-tiles",
    "avg-pool-to-upsampled-conv",
    "weights-to-unfolded",
    "conv-to-conv",
    "conv-to-conv2d",
    "conv-to-rows",
    "conv-to-phase-convs",
    "conv-to-joined-groups",
    "conv-to-upsampled-conv",
    "resize-to-matmul",
    "resize-to-banded-matmul",
    "resize-to-plane-conv",
    "resize-to-block-matmul",
    "resize-dynamic-to-matmul",
}


OWN = 100 * EXAMPLES
"""Problems of each op of GRADIENTS, behind those."""


def seeds_for(strategy: Strategy) -> range:
    own = [index for index, op in enumerate(GRADIENTS) if op in {known.name for known in strategy.ops}]
    return range(POOL + own[0] * OWN, POOL + own[0] * OWN + OWN) if own else range(POOL)


@cache
def problem(seed: int) -> Problem:
    kinds = (*KINDS, *CANONICAL, *CANONICAL) if seed < COMMON else tuple(RARE)
    if seed >= POOL:
        kinds = (tuple(GRADIENTS)[(seed - POOL) // OWN],)
    return with_specials(seeded([3, seed], dtypes=("f32", "f32", "f16", "bf16"), kinds=kinds), seed)


@cache
def expected(seed: int) -> list[tuple[np.ndarray, ...]]:
    module = problem(seed).module()
    with np.errstate(all="ignore"):
        return [evaluate(module, problem(seed).feeds(run)) for run in range(problem(seed).runs)]


@cache
def gradients(seed: int) -> ModuleOp:
    """In the layout that they are given in: a choice of layouts prices all strategies."""
    return apply(problem(seed).module(), pipelines.to_grad(STRICT).partition(",assign-layout")[0])


def lowered(seed: int, target: Target, strategy: str = "auto") -> ModuleOp:
    with np.errstate(all="ignore"):
        return apply(problem(seed).module(), pipelines.lower(target, strategy))


def on_runtime(
    module: ModuleOp, feeds: Sequence[np.ndarray], opset: int = STRICT.opset
) -> tuple[np.ndarray, ...]:
    session = Session(export(module, opset=opset, metadata={}), threads=1)
    names = input_names(entry_function(module))
    return tuple(session.run(dict(zip(names, feeds, strict=True))).values())


def in_numpy(module: ModuleOp, feeds: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    with np.errstate(all="ignore"):
        return evaluate(module, feeds)


def same_patterns(seed: int, module: ModuleOp, execute=on_runtime) -> bool:
    for run, want in enumerate(expected(seed)):
        got = execute(module, problem(seed).feeds(run))
        if not all(np.array_equal(pattern(g), pattern(w)) for g, w in zip(got, want, strict=True)):
            return False
    return True


gradc_problem = parse_problem


def special(seed: int) -> bool:
    """Whether some results are finite and some are not."""
    kinds = [pattern(array) != 0 for arrays in expected(seed) for array in arrays]
    return any(k.any() for k in kinds) and not all(k.all() for k in kinds)


def written_by(strategy: Strategy, seed: int, target: Target) -> list:
    """The problem's gradients, if the strategy takes all of them that it knows and it knows some."""
    known = [op for op in gradients(seed).walk() if isinstance(op, strategy.ops)]
    return [] if any(strategy.refusal(op, target) for op in known) else known


ONE_WORKER = pytest.mark.xdist_group("special values")
"""What is cached of a seed is of use to one worker."""


@pytest.mark.sweep(parts=16)
@ONE_WORKER
@pytest.mark.parametrize("name", [strategy.name for strategy in all_strategies()])
def test_a_strategy_that_does_not_mix_agrees(name: str):
    strategy, agreed = by_name()[name], 0
    seeds = seeds_for(strategy)
    for seed in some(seeds) if name in ALWAYS_MIX else seeds:
        if not special(seed) or not written_by(strategy, seed, STRICT):
            continue
        module = lowered(seed, STRICT, name)
        assert same_patterns(seed, module), f"seed {seed}: {problem(seed)}"
        assert same_patterns(seed, module, in_numpy), f"seed {seed}: {problem(seed)}"
        agreed += 1
        if agreed >= MOST // (1 if Tier.turn is None else 3):
            break
    assert (agreed == 0) == (name in ALWAYS_MIX)
    assert agreed == 0 or agreed >= LEAST


ELSEWHERE = {
    "avg-pool-to-conv-transpose",
    "conv-to-conv-transpose",
    "resize-to-conv",
    "resize-to-gathered-sum",
    "resize-by-axis",
    "resize-axes-last",
}
"""Those that mix on cuda only, in what no source op comes to (see the tests below), or never."""

MIXING = [
    s.name
    for s in all_strategies()
    if s.spreads_nonfinite is not Strategy.spreads_nonfinite and s.name not in ELSEWHERE
]


@pytest.mark.sweep
@ONE_WORKER
@pytest.mark.parametrize("name", MIXING)
def test_a_strategy_that_mixes_is_seen_to(name: str):
    """Else it would be refused for nothing."""
    strategy = by_name()[name]
    for seed in seeds_for(strategy):
        known = written_by(strategy, seed, LOOSE) if special(seed) else []
        if not known or not all(strategy.spreads_nonfinite(op, LOOSE) for op in known):
            continue
        others = [op for op in gradients(seed).walk() if strategies_of(op) and op not in known]
        if not others and not same_patterns(seed, lowered(seed, LOOSE, name)):
            return
    raise AssertionError(
        f"{name} agrees with the reference wherever its `spreads_nonfinite` says that it does not; "
        "one that mixes on cuda only belongs into ELSEWHERE of this file"
    )


TARGETS = (Target("cpu"), Target("cpu", 13), Target("portable"), Target("cuda"))


@pytest.mark.sweep(parts=1)
@pytest.mark.parametrize("target", TARGETS, ids=lambda t: f"{t.name}-{t.opset}")
@pytest.mark.parametrize("most_ops", [1, pytest.param(3, marks=pytest.mark.heavy)])
def test_every_problem_has_a_strict_form(target: Target, most_ops: int):
    """No problem is refused, and what is written agrees: f64 and run-time sizes, too."""
    target, checked = replace(target, strict_ieee=True), 0
    for seed in some(range(50 * EXAMPLES)):
        dtypes = ("f64",) if seed % 5 == 0 else ("f32", "f16", "bf16")
        given = with_specials(seeded([4, seed], dtypes=dtypes, most_ops=most_ops), seed)
        assert_strict(given, target, f"seed {seed}: {given}")
        checked += 1
    assert checked


def assert_strict(given: Problem, target: Target, what: str) -> None:
    with np.errstate(all="ignore"):
        wanted = [evaluate(given.module(), given.feeds(run)) for run in range(given.runs)]
        module = apply(given.module(), pipelines.lower(target))
    run_here = partial(on_runtime, opset=target.opset)
    executes = (in_numpy,) if target.name == "cuda" else (run_here, in_numpy)
    for run, want in enumerate(wanted):
        for execute in executes:
            got = execute(module, given.feeds(run))
            for g, w in zip(got, want, strict=True):
                np.testing.assert_array_equal(pattern(g), pattern(w), what)


WINDOW = {"strides": [1, 1], "pads_begin": [1, 1], "pads_end": [1, 1], "dilations": [1, 1]}


@pytest.mark.parametrize("channels", [16, 20])
def test_the_padded_channels_of_blocked_convolutions(channels: int):
    """One inf among positive numbers gives no NaN, unless a Conv reads channels that onnxruntime added."""
    graph = gradc.Graph()
    value = graph.input("dy", "f32", [1, 16, 12, 12])
    for name, (read, given) in {"w": (16, channels), "v": (channels, 16)}.items():
        weights = graph.input(name, "f32", [read, given, 3, 3])
        value = graph.convolution_backward_data(
            value, weights, [1, given, 12, 12], **WINDOW, data_format="NCX", weights_format="OIX"
        )
    graph.output(value, "dx")
    dy = np.ones((1, 16, 12, 12), np.float32)
    dy[0, 0, 5, 5] = np.inf
    weights = np.ones((16, channels, 3, 3), np.float32)
    constants = {"w": weights, "v": weights.transpose(1, 0, 2, 3)}
    strict = gradc.compile(graph, constants=constants, strict_ieee=True)
    assert not np.isnan(strict.run({"dy": dy})["dx"]).any()
    assert np.isinf(strict.run({"dy": dy})["dx"]).any()


CORNER = (
    "resize_backward,f32,NCX,diff_dst=1x1x9,diff_src=1x1x3,interpolation=nearest_half_up,coordinates=corner"
)


def test_the_zeros_of_a_kernel():
    """What only canonical ops are: a window that ends inside the data is filled up with weights of 0."""
    given = gradc_problem(CORNER)
    strategy = by_name()["resize-to-conv"]
    (op,) = (op for op in given.module().walk() if isinstance(op, strategy.ops))
    assert strategy.refusal(op, LOOSE) is None
    assert "weights of 0" in str(strategy.refusal(op, STRICT))
    dy = np.ones((1, 1, 9), np.float32)
    dy[0, 0, 2] = np.inf
    (want,) = evaluate(given.module(), [dy])
    (loose,) = on_runtime(apply(given.module(), pipelines.from_grad(LOOSE, strategy.name)), [dy])
    (strict,) = on_runtime(apply(given.module(), pipelines.from_grad(STRICT)), [dy])
    assert np.isnan(loose).any()
    np.testing.assert_array_equal(strict, want)


def test_cudnn_is_not_trusted():
    given = gradc_problem("conv_backward_data,f32,NCX,diff_dst=1x4x6x6,weights=4x3x3x3")
    strategy = by_name()["conv-to-conv-transpose"]
    (op,) = (op for op in given.module().walk() if isinstance(op, strategy.ops))
    assert strategy.refusal(op, STRICT) is None
    assert "cuDNN" in str(strategy.refusal(op, Target("cuda", strict_ieee=True)))
