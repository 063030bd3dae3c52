"""The pictures of a report: graphs before and after, and gradients as images."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp

from dialects.support.diagnostics import GradcError
from gradc.reporting.data import NOT_COMPILED, Missing, Report
from gradc.reporting.heat import HeatMap, heat_map
from gradc.reporting.picture import picture

MOST_IMAGES = 12


def pictures(report: Report) -> list[dict[str, Any]]:
    """The source and the model; `svg`, or `why` there is none."""
    sides = (("before", "Source", report.source), ("after", "Model", report.result))
    return [{"id": name, "title": title} | _picture(module, name) for name, title, module in sides]


def _picture(module: ModuleOp | None, name: str) -> dict[str, Any]:
    if module is None:
        return {"svg": "", "why": NOT_COMPILED.why, "note": ""}
    count = sum(not isinstance(op, ModuleOp | FuncOp | ReturnOp) for op in module.walk())
    found = {"svg": "", "why": "", "note": f"{count:,} op{'s' * (count != 1)}"}
    try:
        return found | {"svg": picture(module, name)}
    except GradcError as error:
        return found | {"why": error.diagnostic.message}


def images(report: Report) -> tuple[list[dict[str, Any]], str]:
    """The gradients that are images, and why others are none."""
    if isinstance(report.run, Missing):
        return [], report.run.why
    arrays = report.run.arrays[:MOST_IMAGES]
    try:
        maps = [(array, heat_map(array.values, array.layout)) for array in arrays]
    except GradcError as error:
        return [], error.diagnostic.message
    shown = [{"name": a.name, "role": a.role, "map": m} for a, m in maps if isinstance(m, HeatMap)]
    reasons = [f"{a.name}: {m.reason}" for a, m in maps if not isinstance(m, HeatMap)]
    return shown, "; ".join(reasons) or ("" if shown else "no gradient of this graph is an image")
