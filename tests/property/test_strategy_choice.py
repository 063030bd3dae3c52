"""What is chosen without writing every candidate is what would be chosen of all, written and priced."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.examples import examples
from support.problem_texts import texts, usual_texts
from xdsl.ir import Operation

from dialects.support.diagnostics import GradcError
from gradc.problems import OPS, parse_problem
from passes.cost import exceeds, price_written
from passes.cost.sizes import has_unknown, shared_sizes
from passes.strategies import choice
from passes.strategies.choice import Ranking, least_prices
from passes.targets.target import Target

SPEED = Path(__file__).parents[2] / "docs" / "speed" / "ops.txt"

TARGETS = (
    Target("cpu", threads=1),
    Target("cpu", threads=2),
    Target("cpu", threads=6),
    Target("cpu", threads=1, strict_ieee=True),
    Target("cuda", threads=1),
    Target("portable", threads=2),
)


def gradient(text: str) -> tuple[Operation, object]:
    """The op, and the module that it is in."""
    module = parse_problem(text).module()
    (op,) = (op for op in module.walk() if type(op) in OPS)
    return op, module


def legal(text: str) -> tuple[Operation, object]:
    try:
        return gradient(text)
    except GradcError:
        assume(False)
        raise


def speed_texts() -> list[str]:
    lines = [line for line in SPEED.read_text().splitlines() if line and not line.startswith("#")]
    return [line.replace("NCX|NXC", layout) for line in lines for layout in ("NCX", "NXC")]


def unknown(text: str, images: bool) -> str:
    """The problem with an unknown batch, and images of unknown sizes where it may have these."""
    head, *fields = text.split(",")
    fields = [_unknown(field, images and head.startswith("conv"), "NXC" in text) for field in fields]
    return ",".join((head, *fields))


def _unknown(field: str, images: bool, last: bool) -> str:
    name, _, sizes = field.partition("=")
    if name not in ("diff_dst", "diff_src", "src"):
        return field
    _batch, *others = sizes.split("x")
    if images:
        others = ["?"] * (len(others) - 1) + others[-1:] if last else others[:1] + ["?"] * (len(others) - 1)
    return f"{name}={'x'.join(('?', *others))}"


def check_bounds(op: Operation, target: Target) -> None:
    applicable = Ranking.of(op, target).applicable()
    for strategy, least in zip(applicable, least_prices(op, applicable, target), strict=True):
        prices = price_written(strategy.write, op, target)
        assert not any(map(exceeds, least, prices)), strategy.name


def check_choice(op: Operation, target: Target) -> None:
    """In every question that is asked; each of a ranking that knows nothing yet."""
    every = [c for c in Ranking.of(op, target).candidates(op) if c.cost is not None]
    found = Ranking.of(op, target).cheapest(op)
    assert (found and found.strategy) == (every[0].strategy if every else None)
    for strategy in {c.strategy for c in every}:
        others = [c for c in every if c.strategy is not strategy]
        found = Ranking.of(op, target).cheapest(op, lambda other: other is not strategy)  # noqa: B023
        assert found == (others[0] if others else None)
    costs = {c.cost for c in every if c.cost is not None}
    for seconds in costs:
        below = any(cost < seconds for cost in costs)
        assert Ranking.of(op, target).is_any_below(op, seconds, lambda _: True) == below


class TestBounds:
    @examples(60)
    @given(usual_texts(), st.sampled_from(TARGETS))
    def test_usual_sizes(self, text: str, target: Target):
        op, _module = legal(text)
        check_bounds(op, target)

    @examples(60)
    @given(texts(unknown=False), st.sampled_from(TARGETS))
    def test_small_sizes(self, text: str, target: Target):
        op, _module = legal(text)
        check_bounds(op, target)

    @examples(30)
    @given(st.sampled_from(speed_texts()), st.sampled_from(TARGETS), st.booleans())
    def test_unknown_sizes(self, text: str, target: Target, images: bool):
        op, _module = gradient(unknown(text, images))
        check_bounds(op, target)

    @pytest.mark.sweep
    @pytest.mark.parametrize("text", speed_texts()[::5])
    def test_measured_problems(self, text: str):
        op, _module = gradient(text)
        check_bounds(op, TARGETS[0])

    @pytest.mark.heavy
    @pytest.mark.parametrize("target", TARGETS, ids=str)
    def test_all_measured_problems(self, target: Target):
        for text in speed_texts():
            op, _module = gradient(text)
            check_bounds(op, target)
            check_choice(op, target)


class TestChoice:
    @examples(20)
    @given(usual_texts(), st.sampled_from(TARGETS))
    def test_usual_sizes(self, text: str, target: Target):
        op, _module = legal(text)
        check_choice(op, target)

    @examples(10)
    @given(texts(), st.sampled_from(TARGETS))
    def test_any_sizes(self, text: str, target: Target):
        op, _module = legal(text)
        check_choice(op, target)


def test_few_candidates_are_written(monkeypatch: pytest.MonkeyPatch):
    """Of some six that apply, two in the mean."""
    written, applicable, request = [], 0, 0

    def price(write, op: Operation, target: Target) -> tuple[float, ...]:
        written.append(write)
        return price_written(write, op, target)

    monkeypatch.setattr(choice, "price_written", price)
    for text in speed_texts()[::2]:
        op, _module = gradient(text)
        assert not has_unknown(op)
        ranking = Ranking.of(op, TARGETS[0])
        ranking.cheapest(op)
        applicable += len(ranking.applicable())
        request += 1
    assert len(written) < 2.2 * request
    assert applicable > 5 * request


def test_few_candidates_are_written_for_an_unknown_batch(monkeypatch: pytest.MonkeyPatch):
    """What another one beats at every size is not, and prices are asked for at two batches."""
    written, applicable = [], 0

    def price(write, op: Operation, target: Target) -> tuple[float, ...]:
        written.append(write)
        return price_written(write, op, target)

    monkeypatch.setattr(choice, "price_written", price)
    for text in speed_texts()[::3]:
        op, _module = gradient(unknown(text, images=False))
        assert len(set(shared_sizes(op))) == 2
        ranking = Ranking.of(op, TARGETS[0])
        ranking.cheapest(op)
        applicable += len(ranking.applicable())
    assert len(written) < applicable / 2
