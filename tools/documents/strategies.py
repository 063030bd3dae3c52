"""Page of the strategies: idea, ops, refusals."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cache

import passes
from dialects.support import option_names
from gradc.bench.run import Case
from gradc.bench.suite import cases_of, suite
from passes.strategies import by_name
from passes.strategies.base import Strategy
from passes.targets.target import Target
from tools.documents.prose import capitalize_first, escape_markdown, paragraphs, table
from tools.documents.speed import ROOT

TARGETS = (
    Target("cpu", threads=1),
    Target("cpu", threads=1, strict_ieee=True),
    Target("portable", threads=1),
)
ODD = (
    "conv_backward_data,f32,NCX|NXC,diff_dst=?x8x?x?,weights=8x4x3x3,strides=2x2,pads=1x1:1x1",
    "conv_backward_data,f64|f16,NCX,diff_dst=1x8x7x7,weights=8x4x3x3,weights_are=constant|input",
    "conv_backward_data,f32,NCX,diff_dst=0x8x7x7,weights=8x4x3x3",
    "conv_backward_data,f32,NCX,diff_dst=1x8x7x7,weights=8x4x3x3,strides=1x2,pads=1x0:0x1,dilations=2x1",
    "conv_transpose_backward_data,f32|f64,NCX|NXC,diff_dst=?x8x?x?,weights=4x8x3x3,strides=2x2,pads=1x1:1x1",
    "resize_backward,f32|f64,NCX|NXC,diff_dst=?x4x6x9,diff_src=?x4x3x4,interpolation=linear|nearest_floor",
    "resize_backward,f32,NCX,diff_dst=1x4x3x3,diff_src=1x4x6x6,interpolation=linear|nearest_half_up",
    "resize_backward,f32,NCX,diff_dst=1x1x40000x3,diff_src=1x1x30011x3",
    "resize_backward_dynamic,f32|f64,NCX|NXC,diff_dst=1x4x?x?",
)
"""Problems with dynamic or empty sizes, other dtypes, unequal axes."""


FAMILY_MEMBERS = {name for names in passes.FAMILIES.values() for name in names}


def page() -> str:
    return "\n\n".join(part for strategy in by_name().values() for part in _describe(strategy))


def _describe(strategy: Strategy) -> Iterator[str]:
    yield f"## {strategy.name}"
    own = [] if strategy.name in FAMILY_MEMBERS else paragraphs(inspect.getmodule(type(strategy)))
    first, *others = (*own, *paragraphs(type(strategy))[1:])
    yield "\n\n".join(
        map(escape_markdown, (capitalize_first(first.removeprefix(f"{strategy.name}: ")), *others))
    )
    ops = ", ".join(f"`{op.name}`" for op in strategy.ops)
    strict = (
        " Only with `--strict-ieee`, and where no other strategy applies: others are quicker."
        if strategy.strict_only
        else ""
    )
    layouts = f"; convolutions as {', '.join(strategy.layouts)}" if "grad.conv" in ops else ""
    yield f"Writes {ops}{layouts}.{strict}"
    reasons = refusals()[strategy.name]
    if reasons:
        yield table(
            ("refuses", "for example"),
            [(escape_markdown(reason), f"`{example}`") for reason, example in reasons.values()],
        )


@cache
def refusals() -> dict[str, dict[str, tuple[str, str]]]:
    """Return strategy -> distinct refusal reasons (ignoring numbers, dtypes, axes), with examples."""
    found: dict[str, dict[str, tuple[str, str]]] = {name: {} for name in by_name()}
    cases = [
        *cases_of(str(ROOT / "docs/speed/ops.txt")),
        *suite("full"),
        *(case for text in ODD for case in cases_of(text)),
    ]
    with option_names.using(option_names.Place.COMMAND_LINE):  # the examples use command-line options
        for case in cases:
            _note_refusals(found, case)
    return found


def _note_refusals(found: dict[str, dict[str, tuple[str, str]]], case: Case) -> None:
    for op in case.problem.module().walk():
        for name, strategy in by_name().items():
            if isinstance(op, strategy.ops):
                for target in TARGETS:
                    _note(found[name], strategy.refusal(op, target), target, str(case.problem))


def _note(reasons: dict[str, tuple[str, str]], reason: str | None, target: Target, problem: str) -> None:
    if reason is None:
        return
    alike = re.sub(r"\b(?:b?f\d+|cpu|portable|axis [A-Z]|\d[\d,.]*)\b", "#", reason)
    where = (
        f" --target {target.name}" if target.name != "cpu" else " --strict-ieee" if target.strict_ieee else ""
    )
    reasons.setdefault(alike, (reason, problem + where))
