"""The pictures of a report: graphs before and after, and gradients as images."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from dialects.onnx.base import OnnxOp
from dialects.onnx.ops import ConstantOp
from dialects.support.diagnostics import GradcError
from dialects.support.documented_op import DocumentedOp
from gradc.reporting.data import NOT_COMPILED, Array, Missing, Report
from gradc.reporting.heat import HeatMap, NoMap, error_map, heat_map
from gradc.reporting.picture import picture

MOST_ARRAYS = 12


def pictures(report: Report) -> list[dict[str, Any]]:
    """The source and the model; `svg`, or `why` there is none."""
    sides = (("before", "Source", report.source), ("after", "Model", report.result))
    return [{"id": name, "title": title} | _picture(module, name) for name, title, module in sides]


def _picture(module: ModuleOp | None, name: str) -> dict[str, Any]:
    if module is None:
        return {"svg": "", "why": NOT_COMPILED.why, "note": ""}
    count = sum(
        isinstance(op, DocumentedOp | OnnxOp) and not isinstance(op, ConstantOp) for op in module.walk()
    )
    word = "op" if name == "before" else "node"
    found = {"svg": "", "why": "", "note": f"{count:,} {word}{'s' * (count != 1)}"}
    try:
        return found | {"svg": picture(module, name)}
    except GradcError as error:
        return found | {"why": error.diagnostic.message}


def images(report: Report) -> tuple[list[dict[str, Any]], str]:
    """The gradients that are images, and what outputs are off by; and why others are none."""
    if isinstance(report.run, Missing):
        return [], report.run.why
    try:
        maps = [row for array in report.run.arrays[:MOST_ARRAYS] for row in _maps(array)]
    except GradcError as error:
        return [], error.diagnostic.message
    shown = [
        {"what": what, "name": name, "map": image} for what, name, image in maps if isinstance(image, HeatMap)
    ]
    reasons = [f"{name}: {image.reason}" for _, name, image in maps if not isinstance(image, HeatMap)]
    return shown, "; ".join(dict.fromkeys(reasons)) or (
        "" if shown else "no gradient of this graph is an image"
    )


def _maps(array: Array) -> Iterator[tuple[str, str, HeatMap | NoMap]]:
    """What is shown, of which tensor, and how."""
    yield array.role, array.name, heat_map(array.values, array.layout)
    if array.expected is not None:
        yield "error of", array.name, error_map(array.values, array.expected, array.layout)
