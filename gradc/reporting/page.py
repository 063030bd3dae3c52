"""A report as one HTML file with embedded styles, scripts and pictures."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any

from dialects.support import shapes
from dialects.support.diagnostics import Diagnostic, UnsupportedError, printable
from dialects.support.option_names import option
from gradc.inspection.accuracy import Row
from gradc.reporting import drawings
from gradc.reporting.bars import gradients
from gradc.reporting.changes import Line, Stretch, fold
from gradc.reporting.data import NOT_COMPILED, Contents, GradientCheck, Missing, Model, PassRecord, Run
from gradc.terminal.numbers import number, size, time
from gradc.util.extras import install
from gradc.verification.errors import ULPS_OF_RESULT, ULPS_OF_TERMS

PACKAGE = "gradc.reporting"
DRAWING = "gradc.drawing"
SECTIONS = (
    ("summary", "Summary"),
    ("remarks", "Remarks"),
    ("graph", "Graph"),
    ("strategies", "Strategies"),
    ("passes", "Passes"),
    ("accuracy", "Accuracy"),
    ("images", "Images"),
    ("repeat", "How to repeat"),
)


def page(report: Contents) -> str:
    """Return the HTML. Raises UnsupportedError without the packages of the extra `report`."""
    environment = _environment()
    style = _asset(DRAWING, "tokens.css") + _asset(PACKAGE, "page.css") + _asset(DRAWING, "viewer.css")
    script = _asset(DRAWING, "viewer.js") + _asset(PACKAGE, "page.js")
    safe = import_module("markupsafe").Markup
    pictures = [drawing | {"svg": safe(drawing["svg"])} for drawing in drawings.pictures(report)]
    images, images_missing = drawings.images(report)
    run = None if isinstance(report.run, Missing) else report.run
    return environment.get_template("page.html").render(
        r=report,
        policy=_policy(script),
        style=safe(style),
        script=safe(script),
        lede=_lede(report),
        sections=[{"id": id, "title": title} for id, title in SECTIONS if _has_content(report, id)],
        tiles=list(_tiles(report)),
        model=None if isinstance(report.model, Missing) else report.model,
        drawings=pictures,
        images=images,
        images_missing=images_missing,
        **_passes(report),
        **gradients(report.explanation),
        run=run,
        check=report.check if isinstance(report.check, GradientCheck) else None,
        spreads=_spreads(run),
    )


def _has_content(report: Contents, section: str) -> bool:
    """Return whether a section has content, and no other section has the same reason for missing it."""
    match section:
        case "remarks":
            return report.failure is None
        case "graph":
            return report.source is not None
        case "strategies":
            return report.explanation is not NOT_COMPILED
        case "passes":
            return report.passes is not NOT_COMPILED
        case "accuracy":
            return report.run is not NOT_COMPILED
        case "images":
            return isinstance(report.run, Run)
        case _:
            return True


def check_available() -> None:
    """Raise UnsupportedError with the remedy if pages cannot be made."""
    _environment()


@cache
def _environment() -> Any:
    try:
        jinja = import_module("jinja2")
    except ImportError:
        raise UnsupportedError(Diagnostic("error", f"a page needs jinja2; {install('report')}")) from None
    found = jinja.Environment(
        loader=jinja.PackageLoader(PACKAGE),
        autoescape=True,
        undefined=jinja.StrictUndefined,
        finalize=_visible,
    )
    found.globals["option"] = option
    found.filters |= {"shape": _shape, "number": number, "time": time}
    return found


def _visible(value: Any) -> Any:
    """Escape invisible and bidirectional characters in names from files."""
    if type(value) is not str:
        return value
    return "\n".join(map(printable, value.split("\n")))


def _asset(package: str, name: str) -> str:
    return files(package).joinpath(name).read_text("utf-8")


def _policy(script: str) -> str:
    """Return the content security policy: the page's own script, and embedded pictures only."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


def _shape(dims: shapes.Shape | None) -> str:
    if dims is None:
        return "unknown"
    return " × ".join("?" if dim is None else str(dim) for dim in dims) or "scalar"


def _lede(report: Contents) -> str:
    settings = report.settings
    threads = f"{settings.threads} thread" + ("s" if settings.threads > 1 else "")
    return f"target {settings.target} · opset {settings.opset} · {threads}"


@dataclass(frozen=True)
class Tile:
    """A number at the top of the page; `mood` is good, bad or ''."""

    name: str
    value: str
    unit: str = ""
    note: str = ""
    mood: str = ""


def _tiles(report: Contents) -> Iterator[Tile]:
    count = sum(report.ops.values())
    if count:
        yield Tile("source ops", str(count), note=f"of {len(report.ops)} kind" + "s" * (len(report.ops) > 1))
    if isinstance(report.model, Model):
        kinds = len(report.model.nodes)
        nodes = sum(report.model.nodes.values())
        yield Tile("ONNX nodes", str(nodes), note=f"of {kinds} kind" + "s" * (kinds > 1))
        value, unit = size(report.model.size)
        weights = " ".join(size(report.model.weights))
        yield Tile("model", value, unit, f"{weights} of constants")
    if isinstance(report.explanation, Missing) or report.failure:
        return
    yield from _time(report)
    if isinstance(report.run, Run):
        yield _verdict(report.run)
    if isinstance(report.check, GradientCheck):
        yield _gradient_tile(report.check)


def _time(report: Contents) -> Iterator[Tile]:
    """Yield the total time of the chosen strategies, measured if all of them were.

    It excludes the nodes between gradients and the overhead of a call.
    """
    assert not isinstance(report.explanation, Missing)
    chosen = [
        (row, len(gradient.ops))
        for gradient in report.explanation.gradients
        for row in gradient.strategies
        if row.name == gradient.choice
    ]
    measured = [row.measured * times for row, times in chosen if row.measured is not None]
    predicted = [row.predicted * times for row, times in chosen if row.predicted is not None]
    if chosen and len(measured) == len(chosen):
        yield Tile("a run", *_split(time(sum(measured))), note="the gradients alone, measured")
    elif chosen and len(predicted) == len(chosen):
        yield Tile("a run", *_split(time(sum(predicted))), note="the gradients alone, predicted")


def _split(text: str) -> tuple[str, str]:
    value, _, unit = text.partition(" ")
    return value, unit


def _verdict(run: Run) -> Tile:
    worst = max(run.rows, key=lambda row: row.worst / row.rtol if row.rtol else row.worst, default=None)
    if worst is None:
        return Tile("verified", "nothing", note="the graph has no outputs")
    if run.ok and not any(row.finite for row in run.rows):
        return Tile("verified", "nothing", note="inf and NaN, as the reference")
    note = f"bound {number(worst.rtol)}"
    return Tile("worst error", number(worst.worst), note=note, mood="good" if run.ok else "bad")


def _gradient_tile(check: GradientCheck) -> Tile:
    mood = {"proved": "good", "wrong": "bad"}.get(check.status, "")
    note = "" if check.proof is None else f"{check.proof.proved} of {check.proof.ops} ops"
    return Tile("gradient", check.status, note=note, mood=mood)


def _passes(report: Contents) -> dict[str, Any]:
    if isinstance(report.passes, Missing):
        return {"passes": None, "total": 0}
    shown = [_pass(record) for record in report.passes]
    return {"passes": shown, "total": sum(record.seconds for record in report.passes)}


def _pass(record: PassRecord) -> dict[str, Any]:
    lines = () if isinstance(record.lines, Missing) else record.lines
    return {
        "name": record.name,
        "time": time(record.seconds) if record.seconds else "",
        "missing": record.lines.why if isinstance(record.lines, Missing) else "",
        "stretches": _stretches(lines),
        "added": sum(line.mark == "added" for line in lines),
        "removed": sum(line.mark == "removed" for line in lines),
    }


def _stretches(lines: Sequence[Line]) -> Sequence[Stretch]:
    """Fold the lines of a pass; the source is shown in full, as nothing precedes it."""
    if all(line.mark == "same" for line in lines):
        return [Stretch(tuple(lines), folded=False)] if lines else []
    return fold(lines)


def _spreads(run: Run | None) -> list[dict[str, Any]] | None:
    if run is None or isinstance(run.errors, Missing):
        return None
    return [_spread(row) for row in (*run.errors.outputs, *run.errors.ops)]


def _spread(row: Row) -> dict[str, Any]:
    found = {"name": row.name, "dtype": row.dtype, "mismatches": "", "ulps": []}
    if row.errors is None:
        return found
    spreads = [row.errors.spreads[measure] for measure in (ULPS_OF_TERMS, ULPS_OF_RESULT)]
    values = [value for spread in spreads for value in (spread.worst, spread.p99, spread.median)]
    return found | {"mismatches": row.errors.mismatches, "ulps": values}
