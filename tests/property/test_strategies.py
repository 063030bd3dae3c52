"""Every registered strategy, forced, on random problems: it agrees with the reference, or says why not.

A strategy needs no test code of its own: being in `all_strategies()` is enough.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache

import pytest
from support.examples import EXAMPLES
from support.generate import CANONICAL, GRADIENTS, KINDS, RARE, seeded
from support.pipeline import Expected, apply, assert_located, lowered
from support.problems import Problem
from support.tiers import some

from dialects.support.diagnostics import UnsupportedError
from passes import pipelines
from passes.select_strategy import candidates
from passes.strategies import all_strategies, by_name
from passes.targets.target import Target

COMMON = 2500 * EXAMPLES
POOL = COMMON + 600 * EXAMPLES
"""Problems of all kinds, and rare ones."""
LEAST = 20
"""How many problems each strategy must have agreed on: a test cannot pass by refusals."""
MOST = 30 * EXAMPLES

OWN = 200 * EXAMPLES
"""Problems of each op of GRADIENTS, behind those."""


def least(op: str) -> int:
    """How many problems of an op a strategy must have agreed on: few of those that are drawn for the op."""
    return 8 if op in GRADIENTS else LEAST


LACKS_NONE = (Target().name, Target().opset)


def canonical_spec(target: Target) -> str:
    """The pipeline up to where strategies are asked."""
    return pipelines.lower(target).partition(",select-strategy")[0]


def as_given(target: Target) -> str:
    """The same without a choice of layouts, which prices all strategies."""
    return canonical_spec(target).partition(",assign-layout")[0]


@cache
def problem(seed: int) -> Problem:
    dtypes = ("f32", "f32", "f16", "bf16")
    if seed >= POOL:
        return seeded([1, seed], dtypes=dtypes, kinds=[tuple(GRADIENTS)[(seed - POOL) // OWN]])
    kinds = (*KINDS, *CANONICAL, *CANONICAL) if seed < COMMON else tuple(RARE)
    return seeded([1, seed], dtypes=dtypes, kinds=kinds)


@cache
def expectation(seed: int) -> Expected:
    return Expected(problem(seed))


@cache
def verdicts(seed: int, target: Target) -> dict[str, list[tuple[str, str | None]]]:
    """What each strategy says to the problem's ops that it knows: the op's name, a refusal or None."""
    module = apply(problem(seed).module(), as_given(target))
    return {
        name: [
            (op.name, strategy.refusal(op, target)) for op in module.walk() if isinstance(op, strategy.ops)
        ]
        for name, strategy in by_name().items()
    }


def _of_one_worker(target: Target, *marks: pytest.MarkDecorator):
    """What is cached of a target is of use to one worker."""
    name = f"{target.name}-{target.opset}"
    return pytest.param(target, id=name, marks=[pytest.mark.xdist_group(f"strategies {name}"), *marks])


TARGETS = (
    _of_one_worker(Target()),
    # a few of all targets and opsets: test_targets.py
    _of_one_worker(Target("cuda"), pytest.mark.heavy),
    _of_one_worker(Target("cpu", 13), pytest.mark.heavy),
)


@pytest.mark.sweep(parts=16)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", [strategy.name for strategy in all_strategies()])
def test_strategy_agrees_or_refuses(name: str, target: Target):
    ops = {op.name for op in by_name()[name].ops}
    target = replace(target, strict_ieee=by_name()[name].strict_only)
    agreed: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for seed in _seeds(ops, agreed, refused):
        message = verdicts(seed, target)[name]
        if not message or all(agreed[op] >= MOST for op, _ in message):
            continue
        reasons = [reason for _, reason in message if reason]
        if reasons:
            _check_refusals(reasons)
            if sum(refused.values()) < LEAST:
                _check_forced_refusal(seed, target, name)
            refused.update(op for op, reason in message if reason)
        else:
            _check_agrees(seed, target, name)
            agreed.update(op for op, _ in message)
    for op in ops:
        # a target may lack the kernel that a strategy lives by; the default target lacks none
        never = agreed[op] == 0 and refused[op] >= LEAST and (target.name, target.opset) != LACKS_NONE
        assert agreed[op] >= least(op) or never, (op, agreed[op], refused[op])


def _seeds(ops: Iterable[str], agreed: Counter[str], refused: Counter[str]) -> Iterator[int]:
    """Problems of all kinds, until there are enough or none seems to fit; then rare ones, until there are."""

    def reported(_: int) -> bool:
        return all(agreed[op] >= MOST or (agreed[op] == 0 and refused[op] >= 4 * MOST) for op in ops)

    own = [POOL + index * OWN for index, op in enumerate(GRADIENTS) if op in ops]
    if own:
        seeds = itertools.chain.from_iterable(range(first, first + OWN) for first in own)
        yield from itertools.takewhile(lambda _: any(agreed[op] < least(op) for op in ops), seeds)
        return
    yield from itertools.takewhile(lambda seed: not reported(seed), range(COMMON))
    yield from itertools.takewhile(lambda _: any(agreed[op] < MOST for op in ops), range(COMMON, POOL))


def _check_refusals(reasons: list[str]) -> None:
    for reason in reasons:
        assert len(reason.split()) >= 3
        assert not reason.endswith((".", "\n"))


def _check_forced_refusal(seed: int, target: Target, name: str) -> None:
    with pytest.raises(UnsupportedError, match=name) as caught:
        lowered(problem(seed), target, name)
    assert str(caught.value).startswith("problem.mlir:1:1: error: ")
    assert "\n" not in str(caught.value)


def _check_agrees(seed: int, target: Target, name: str) -> None:
    expected = expectation(seed)
    module = lowered(problem(seed), target, name)
    assert_located(module, name)
    expected.check_module(module, name)
    if target.name == "cpu":
        expected.check_runtime(module, target)


@pytest.mark.sweep
def test_auto_takes_the_cheapest_that_applies():
    for seed in some(range(40)):
        for op in apply(problem(seed).module(), canonical_spec(Target())).walk():
            found = candidates(op, Target())
            prices = [c.cost for c in found if c.cost is not None]
            assert prices == sorted(prices)
            assert all((c.cost is None) == (c.refusal is not None) for c in found)
