"""Compare models with a reference, and show the errors: what `gradc verify` does with its options."""

from __future__ import annotations

import os
from collections.abc import Sequence
from math import isfinite
from typing import Any

import click

from dialects.support.diagnostics import usage
from gradc.cli.compiling import Files
from gradc.cli.running import Inputs
from gradc.compiler.compiled import Compiled
from gradc.files.arrays import read_files
from gradc.files.json_text import json_text
from gradc.inspection import accuracy, verify_models, verify_ops
from gradc.inspection.accuracy import Report
from gradc.inspection.verify_models import ModelError, WithinError
from gradc.inspection.verify_ops import OpError
from gradc.terminal import messages, progress
from gradc.terminal.tables import BAD, PLAIN, Look, table
from gradc.verification.samples import ANY_SIZES
from gradc.verification.verify import OutputError, check_reference


def verify_model(
    compiled: Compiled,
    path: str,
    inputs: Inputs,
    ep: Any,
    threads: int | None,
    rtol: float | None,
    within: bool,
    runtime: str | None = None,
    constants: Files | None = None,
) -> list[OutputError]:
    """Compare a model with its compiled form, in which `constants` are bound: a row per output and size, and
    for the first that differ the first intermediate value that does."""
    _check_rtol(rtol)
    bound = {} if constants is None else read_files(constants)
    pair = verify_models.Pair(compiled, path, rtol, ep, threads, runtime, bound)
    guesses = verify_models.SIZES if inputs.has_default_sizes else (ANY_SIZES,)
    with progress.bar():
        draw, redraws = inputs.draw_for(compiled), inputs.files is None
        found = [*verify_models.verify_at_sizes(pair, draw, guesses, within, redraws)]
    for remark in (each for each in found if isinstance(each, str)):
        messages.mention(remark)
    return [each for each in found if not isinstance(each, str)]


def _check_rtol(rtol: float | None) -> None:
    if rtol is not None and not rtol >= 0:
        raise usage("--rtol", rtol, "a number >= 0")


def verify(
    compiled: Compiled,
    inputs: Inputs,
    ep: Any,
    threads: int | None,
    rtol: float | None,
    wants_report: bool,
    runtime: str | None = None,
) -> tuple[list[OutputError], Report | None]:
    """Compare with the reference: rows of outputs, then of ops, and on request the errors against float64."""
    _check_rtol(rtol)
    with progress.bar():
        check_reference(compiled.source)
        fed = inputs.of_compiled(compiled)
        outputs = compiled.run(fed, ep, threads, runtime)
        rows = verify_ops.verify(compiled, fed, outputs, rtol, ep, threads, runtime)
        report = accuracy.report(compiled, fed, outputs, ep, threads, runtime) if wants_report else None
        return rows, report


def verify_table(rows: Sequence[OutputError], report: Report | None, look: Look = PLAIN) -> str:
    ops = [row for row in rows if isinstance(row, OpError)]
    within = [row for row in rows if isinstance(row, WithinError)]
    parts = [_table("output", [row for row in rows if not isinstance(row, OpError | WithinError)], look)]
    parts += [_table("op alone", ops, look)] if ops else []
    parts += [_table("first value that differs", within, look)] if within else []
    parts += [str(row.difference) for row in within]
    parts += [accuracy.as_text(report, look)] if report is not None else []
    return "\n\n".join(parts)


def _table(what: str, rows: Sequence[OutputError], look: Look) -> str:
    header = (what, "dtype", "shape", "worst error", "typical", "bound", "")
    wrong = {index: BAD for index, row in enumerate(rows) if not row.ok}
    cells = [_cells(row) for row in rows]
    sizes = [row.inputs if isinstance(row, ModelError) else "" for row in rows]
    if not any(sizes):
        return table(header, cells, (3, 4, 5), look, wrong)
    placed = [(first, at, *rest) for (first, *rest), at in zip(cells, sizes, strict=True)]
    return table((what, "at", *header[1:]), placed, (4, 5, 6), look, wrong)


def _cells(row: OutputError) -> tuple[str, ...]:
    shape = "x".join(map(str, row.shape)) or "scalar"
    if isinstance(row, ModelError) and row.random:
        return (row.name, row.dtype, shape, "", "", "", row.verdict)
    errors = (f"{row.worst:.3g}", f"{row.typical:.3g}", f"{row.rtol:.3g}")
    if not isinstance(row, OpError):
        return (row.name, row.dtype, shape, *errors, row.verdict)
    name = f"{row.place}: {row.name}" if row.place else row.name
    verdict = f"{row.verdict} ({row.strategy})" if row.strategy else row.verdict
    return (name, row.dtype, shape, *(("", "", "") if row.unchecked else errors), verdict)


def verify_json(rows: Sequence[OutputError], report: Report | None) -> str:
    """Return the verification as JSON: a list of outputs and ops, or with a report an object.

    The object has the list as `verified`, and the report's two lists. `op` is the location and strategy of an
    op, null for an output; for an intermediate value it is the node that computes it, other candidates, and
    the values before. An error that is not finite is null.
    """
    found = [
        {
            "name": row.name,
            "dtype": row.dtype,
            "shape": list(row.shape),
            "worst": row.worst if isfinite(row.worst) else None,
            "typical": row.typical if isfinite(row.typical) else None,
            "rtol": row.rtol if isfinite(row.rtol) else None,
            "finite": row.finite,
            "ok": row.ok,
            "op": _op_data(row),
        }
        | (_model_data(row) if isinstance(row, ModelError) else {})
        for row in rows
    ]
    if report is None:
        return json_text(found)
    parts = {"outputs": report.outputs, "ops": report.ops}
    lists = {name: [accuracy.as_data(row) for row in part] for name, part in parts.items()}
    return json_text({"verified": found} | lists)


def _model_data(row: ModelError) -> dict[str, Any]:
    lists = {"random": list(row.random), "unexercised": list(row.unexercised)}
    return {"sizes": row.sizes, "empty": row.empty, "exercises": row.exercises} | lists


def _op_data(row: OutputError) -> dict[str, Any] | None:
    if isinstance(row, WithinError) and row.difference is not None:
        *others, last = map(str, row.difference.steps)
        return {"place": last, "or": others, "after": list(row.difference.after)}
    if not isinstance(row, OpError):
        return None
    return {name: getattr(row, name) or None for name in ("place", "strategy", "unchecked")}


def is_run(path: str) -> bool:
    """Return whether a path is a folder that `gradc train` wrote."""
    return os.path.isfile(os.path.join(path, "train.json"))


def verify_run(folder: str, seed: int, threads: int | None, *, as_json: bool) -> bool:
    """Compare steps of a run with float64, print the outcome, and return whether they agree."""
    from gradc.training.verify_run import verify_run as verify

    with progress.bar():
        found = verify(folder, seed=seed, threads=threads)
    if as_json:
        click.echo(json_text(found.as_data()))
        return found.ok
    rows = [
        (str(number), f"{loss:.6g}", f"{exact:.6g}", f"{loss - exact:.1e}")
        for number, (loss, exact) in enumerate(zip(found.losses, found.expected, strict=True), 1)
    ]
    click.echo(table(("step", "loss", "in float64", "difference"), rows, numbers=(0, 1, 2, 3)))
    verdict = "right" if found.ok else "wrong"
    scatter = f"a run whose parameters begin one rounding away differs by {found.scatter:.1e}"
    click.echo(
        f"{verdict}: the parameters differ from float64 by {found.error:.1e} of their change; {scatter}"
    )
    return found.ok
