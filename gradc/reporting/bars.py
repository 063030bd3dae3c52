"""The strategy table of a report: times as bars, inapplicable strategies listed separately."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dialects.support.diagnostics import printable
from gradc.inspection.explain import WHY, Explanation, GradientReport, Source, StrategyReport
from gradc.reporting.data import Missing
from gradc.terminal.numbers import time, with_prefix

MAX_BAR = 8.0
"""Maximum length of a bar relative to the best (measured, if any) one: a single slow strategy would hide the
differences among the others."""


def gradients(found: Explanation | Missing) -> dict[str, Any]:
    """Return the variables of the strategies template."""
    if isinstance(found, Missing):
        return {"gradients": None, "measured": False}
    rows = [row for gradient in found.gradients for row in gradient.strategies]
    measured = any(row.measured is not None for row in rows)
    return {"gradients": [_gradient(gradient) for gradient in found.gradients], "measured": measured}


def _gradient(gradient: GradientReport) -> dict[str, Any]:
    applicable = [row for row in gradient.strategies if row.refusal is None]
    scale = _scale(applicable)
    part = gradient.peak_fraction
    return {
        "ops": [{"name": _name(op), "source": printable(op.name or op.position)} for op in gradient.ops],
        "label": ", ".join(map(_name, gradient.ops)),
        "problem": gradient.problem,
        "choice": gradient.choice,
        "why": WHY[gradient.why] if gradient.choice else gradient.why,
        "rows": [_row(row, row.name == gradient.choice, scale) for row in applicable],
        "refused": [row for row in gradient.strategies if row.refusal is not None],
        "nodes": gradient.nodes,
        "facts": ", ".join(_facts(gradient)),
        "peak": None if part is None else {"text": f"{part:.0%}", "percent": f"{min(part, 1) * 100:.1f}"},
    }


def _name(op: Source) -> str:
    """Return the op's name, else its position without folders."""
    return op.name or re.split(r"[\\/]", op.position)[-1] or "unnamed"


def _facts(gradient: GradientReport) -> Iterator[str]:
    if gradient.constant_elements:
        yield f"{gradient.constant_elements:,} elements of constants"
    if gradient.flops:
        yield f"{with_prefix(gradient.flops)}flop"


def _scale(rows: list[StrategyReport]) -> float:
    """Return the seconds of a bar of full length."""
    measured = [row.measured for row in rows if row.measured]
    predicted = [row.predicted for row in rows if row.predicted]
    times = measured + predicted
    return min(max(times), MAX_BAR * min(measured or predicted)) if times else 1.0


def _row(row: StrategyReport, chosen: bool, scale: float) -> dict[str, Any]:
    times = (("predicted", row.predicted), ("measured", row.measured))
    bars = [_bar(kind, seconds, scale) for kind, seconds in times if seconds is not None]
    return {"name": row.name, "chosen": chosen, "bars": bars}


def _bar(kind: str, seconds: float, scale: float) -> dict[str, Any]:
    percent = min(seconds / scale, 1.0) * 100
    return {"kind": kind, "percent": f"{percent:.1f}", "cut": seconds > scale, "text": time(seconds)}
