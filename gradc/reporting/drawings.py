"""Pictures of a report: graphs before and after, and gradients as images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from dialects.onnx.base import OnnxOp
from dialects.onnx.node import NodeOp
from dialects.onnx.ops import ConstantOp
from dialects.support.diagnostics import Diagnostic, GradcError, position_of, subject_of
from dialects.support.documented_op import DocumentedOp
from dialects.support.error_list import is_opaque
from gradc.drawing.picture import picture
from gradc.reporting.data import NOT_COMPILED, Array, Contents, Missing
from gradc.reporting.heat import HeatMap, NoMap, error_map, heat_map

MOST_ARRAYS = 12


def pictures(report: Contents) -> list[dict[str, Any]]:
    """Return the pictures of source and model, each with `svg`, or `why` there is none."""
    sides = (("before", "Source", report.source), ("after", "Model", report.result))
    wrong = [failure.diagnostic for failure in report.failures]
    return [{"id": name, "title": title} | _picture(module, name, wrong) for name, title, module in sides]


def _picture(module: ModuleOp | None, name: str, wrong: Sequence[Diagnostic]) -> dict[str, Any]:
    if module is None:
        return {"svg": "", "why": NOT_COMPILED.why, "note": ""}
    ops = [op for op in module.walk() if isinstance(op, DocumentedOp | OnnxOp | NodeOp) or is_opaque(op)]
    count = sum(not isinstance(op, ConstantOp) for op in ops)
    word = "op" if name == "before" else "node"
    found = {"svg": "", "why": "", "note": f"{count:,} {word}{'s' * (count != 1)}"}
    try:
        return found | {"svg": picture(module, name, [op for op in ops if _is_culprit(op, wrong)])}
    except GradcError as error:
        return found | {"why": error.diagnostic.message}


def _is_culprit(op: Operation, wrong: Sequence[Diagnostic]) -> bool:
    """Return whether an op is unknown or the subject of an error."""
    if is_opaque(op):
        return True
    place, subject = position_of(op), subject_of(op)
    return any(d.position == place if place and d.position else d.subject == subject for d in wrong)


def images(report: Contents) -> tuple[list[dict[str, Any]], str]:
    """Return heat maps of the image-like gradients and their errors, and the reasons for missing ones."""
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
    """Yield the role, name and heat map of an array and of its error."""
    yield array.role, array.name, heat_map(array.values, array.layout)
    if array.expected is not None:
        yield "error of", array.name, error_map(array.values, array.expected, array.layout)
