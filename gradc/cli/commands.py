"""Implementations of the commands, independent of their options."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from dialects.support.diagnostics import Diagnostic, GradcError, UsageError, printable, sentence, violation
from gradc.compiler.compiled import Compiled
from gradc.compiler.driver import compile_module, load, lower
from gradc.compiler.gradient import gradient_of
from gradc.compiler.gradient_request import GradientRequest
from gradc.compiler.options import Options
from gradc.compiler.pass_runner import Observer
from gradc.compiler.source import Source
from gradc.files import npz
from gradc.files.arrays import read_files
from gradc.files.json_text import json_text
from gradc.graph.constants import bind_constants
from gradc.graph.printing import module_text
from gradc.graph.unused import unused_remarks
from gradc.inspection import accuracy as accuracy
from gradc.inspection import before_after, summaries, verify_models, verify_ops
from gradc.inspection.accuracy import Report
from gradc.inspection.before_after import BeforeAfter, Measures
from gradc.inspection.observe import Timing
from gradc.inspection.verify_models import ModelError, WithinError
from gradc.inspection.verify_ops import OpError
from gradc.model import saving
from gradc.runtime.other_runtimes import OtherSession, session_of_file
from gradc.runtime.session import Session
from gradc.terminal import messages, progress
from gradc.terminal.numbers import format_bytes
from gradc.terminal.outputs import STDOUT, write_output
from gradc.terminal.streams import write_stdout
from gradc.terminal.tables import BAD, PLAIN, Look, table
from gradc.tuning.tuner import Tuner
from gradc.verification.exact_match import kind_of
from gradc.verification.samples import ANY_SIZES, Guess, random_inputs, random_model_inputs
from gradc.verification.verify import OutputError, check_reference

Files = str | tuple[str, ...]
"""One file, or several."""


@dataclass(frozen=True)
class Inputs:
    """Source of a run's inputs: files of arrays, else a seed and shapes for dynamic dims."""

    files: Files | None = None
    seed: int = 0
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)

    def of_compiled(self, compiled: Compiled) -> dict[str, np.ndarray]:
        return self.draw_for(compiled)(ANY_SIZES)

    def draw_for(self, compiled: Compiled) -> Callable[[Guess], dict[str, np.ndarray]]:
        """Return the inputs as a function of the guessed sizes of dynamic dims that nothing fixes."""
        if self.files is not None:
            read = read_files(self.files)
            return lambda _: read
        return lambda guess: random_inputs(
            compiled.source,
            self.seed,
            self.shapes,
            replace(guess, named=self.sizes, values=guess.values or 0),
        )

    @property
    def has_default_sizes(self) -> bool:
        return self.files is None and not self.shapes and not self.sizes


def compile_to(
    source: Source,
    output: str | None,
    options: Options,
    constants: Files | None,
    emit: str,
    observer: Observer,
    tuner: Tuner | None,
    external_data: bool,
) -> Compiled | None:
    """Compile, print the remarks, and write the model, which is returned, or the IR."""
    if emit == "onnx":
        found = _compile(source, options, constants, observer, tuner)
        messages.show_remarks(*found.remarks)
        _write_model(found, output, external_data)
        return found
    module = load_bound(source, options, constants)
    messages.show_remarks(*lower(module, options, observer, tuner))
    write_ir(module, output)
    return None


def write_ir(module: ModuleOp, output: str | None) -> None:
    write_output(output or STDOUT, module_text(module).encode(), "MLIR")


def compile_source(source: Source, options: Options, constants: Files | None) -> Compiled:
    """Compile a source to run it here, and print the remarks, except those on unused inputs."""
    found = _compile(source, options, constants)
    about_feeding = set(unused_remarks(found.module))
    messages.show_remarks(*(remark for remark in found.remarks if remark not in about_feeding))
    return found


def _compile(
    source: Source,
    options: Options,
    constants: Files | None,
    observer: Observer | None = None,
    tuner: Tuner | None = None,
) -> Compiled:
    with progress.bar():
        module = load(source, options.auto_pad_rule, target=options.target)
        return compile_module(module, options, constants, observer, tuner)


def gradient_to(
    source: Source,
    output: str | None,
    asked: GradientRequest,
    options: Options,
    constants: Files | None,
    external_data: bool,
    observer: Observer,
) -> Compiled:
    """Differentiate and compile, print the remarks, and write the model."""
    with progress.bar():
        module = load(source, options.auto_pad_rule, for_gradients=())
        found = gradient_of(module, asked, options, constants, observer)
    messages.show_remarks(*found.remarks)
    _write_model(found, output, external_data)
    return found


def load_bound(source: Source, options: Options, constants: Files | None) -> ModuleOp:
    """Import a source, with inputs replaced by constants."""
    module = load(source, options.auto_pad_rule, target=options.target)
    if constants is not None:
        bind_constants(module, read_files(constants))
    return module


def _write_model(compiled: Compiled, output: str | None, external_data: bool) -> None:
    assert output is not None
    if output != STDOUT:
        beside = compiled.save_as(output, external_data)
        if beside and not external_data:
            messages.show_remarks(_external_data_remark(compiled.parts.weight_bytes, beside))
        _report_companions(compiled, output, beside)
        if stale := compiled.stale_weights(output):
            messages.show_remarks(Diagnostic("remark", f"{stale} belongs to an earlier model and is unused"))
        return
    if external_data or compiled.parts.weight_bytes > saving.PROTO_LIMIT:
        raise violation(
            "a model with external data or more than 2 GB of weights cannot go to stdout", hint="-o OUT.onnx"
        )
    for piece in compiled.parts.pieces():
        write_stdout(piece)


def _report_companions(compiled: Compiled, output: str, beside: str) -> None:
    """Report the files written with a model: its external data and initial weights."""
    if beside:
        path = os.path.join(os.path.dirname(output), beside)
        messages.report_file(path, f"external data, {format_bytes(os.path.getsize(path))}")
    if weights := compiled.required_weights:
        size = sum(array.nbytes for array in weights.values())
        count = "1 initial weight" if len(weights) == 1 else f"{len(weights)} initial weights"
        messages.report_file(saving.weights_path(Path(output)), f"{count}, {format_bytes(size)}")


def _external_data_remark(weights: int, file: str) -> Diagnostic:
    text = f"{format_bytes(weights)} of weights exceed the limit of an ONNX file: written as external data"
    return Diagnostic("remark", f"{text} (--external-data) to {file}")


def write_arrays(output: str, arrays: Mapping[str, np.ndarray]) -> None:
    """Write an .npz file, or its bytes to stdout."""
    if output != STDOUT:
        npz.write_npz(output, arrays)
        count = "1 array" if len(arrays) == 1 else f"{len(arrays)} arrays"
        messages.report_file(
            output, f"{count}, {format_bytes(sum(array.nbytes for array in arrays.values()))}"
        )
        return
    archive = BytesIO()
    npz.write_archive(archive, arrays)
    write_stdout(archive.getvalue())


def run_compiled(
    compiled: Compiled, inputs: Inputs, ep: Any, threads: int | None, runtime: str | None = None
) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """Return the outputs, and the number of nodes that each of several providers took."""
    session = compiled.session_on(runtime, ep, threads)
    return session.run(inputs.of_compiled(compiled)), _placement(session)


def run_model(
    path: str, inputs: Inputs, ep: Any, threads: int | None, runtime: str | None = None
) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    session = session_of_file(path, ep, threads, runtime)
    fed = _random_inputs(session, inputs, path) if inputs.files is None else read_files(inputs.files)
    return session.run(fed), _placement(session)


def _random_inputs(session: Session | OtherSession, inputs: Inputs, path: str) -> dict[str, np.ndarray]:
    """Draw inputs that fit the graph, if the model embeds it or has integer inputs, which may be sizes."""
    graph = session.graph
    if graph is None and any(info.dtype in ("s32", "s64") for info in session.inputs):
        with contextlib.suppress(GradcError):  # onnxruntime runs the model nevertheless
            graph = load(path)
    if graph is None:
        return random_model_inputs(session.inputs, inputs.seed, inputs.shapes)
    drawn = random_inputs(graph, inputs.seed, inputs.shapes, replace(ANY_SIZES, values=0))
    return {info.name: drawn[info.name] for info in session.inputs if info.name in drawn}


def _placement(session: Session | OtherSession) -> dict[str, int]:
    """Return the number of nodes per provider; empty if there is only one."""
    if not isinstance(session, Session) or len(session.providers) < 2:
        return {}
    return dict(sorted(Counter(session.placement().values()).items()))


def compile_json(
    compiled: Compiled, before: Measures | None, output: str | None, timing: Timing | None
) -> str:
    passes = None if timing is None else timing.rows
    found = summaries.of_compiled(compiled, output, passes)
    changes = {} if before is None else {"changes": changes_of(before, compiled).as_data()}
    return json_text(found | changes)


def measures_of(source: Source) -> Measures | None:
    """Measure a source that is a model."""
    return before_after.of_file(source.files[0]) if source.is_model else None


def changes_of(before: Measures, compiled: Compiled) -> BeforeAfter:
    return BeforeAfter(before, before_after.of_compiled(compiled))


def report_model(compiled: Compiled, output: str | None, checked: str = "") -> None:
    """Report a written model in one line; for one on stdout only to a terminal."""
    assert output is not None
    about = "; ".join(filter(None, (describe_model(compiled), checked)))
    if output == STDOUT:
        messages.report(f"wrote stdout: {about}")
    else:
        messages.report_file(output, about)


def describe_model(compiled: Compiled) -> str:
    """Describe a model: nodes, bytes, opset and target."""
    target, count = compiled.options.resolve_target(), len(compiled.proto.graph.node)
    nodes = "1 node" if count == 1 else f"{count:,} nodes"
    written = format_bytes(saving.model_bytes(compiled.parts))
    return f"{nodes}, {written}, opset {target.opset}, {target.name}"


def gradient_json(compiled: Compiled, output: str | None) -> str:
    return json_text(summaries.of_gradient(compiled, output))


def run_json(results: Mapping[str, np.ndarray], placement: Mapping[str, int], output: str | None) -> str:
    return json_text(summaries.of_run(results, placement, output))


def describe_placement(placement: Mapping[str, int]) -> str:
    return "placement: " + ", ".join(f"{count} nodes on {name}" for name, count in placement.items())


def _kind(value: Any) -> str:
    if isinstance(value, list):
        return f"sequence of {len(value)}" + (f", the first {_kind(value[0])}" if value else "")
    if not isinstance(value, np.ndarray):
        return kind_of(value)
    dtype = "string" if value.dtype.hasobject else value.dtype
    return f"{dtype} {'x'.join(map(str, value.shape)) or 'scalar'}"


def describe(results: Mapping[str, np.ndarray]) -> Iterator[str]:
    """Yield a line per output: name, dtype, shape and range."""
    for name, array in results.items():
        line = printable(f"{name}: {_kind(array)}")
        if found := summaries.range_of(array):
            line += "".join(f", {what} {value:.6g}" for what, value in found.items())
        yield line


def verify_model(
    compiled: Compiled,
    path: str,
    inputs: Inputs,
    ep: Any,
    threads: int | None,
    rtol: float | None,
    within: bool,
    runtime: str | None = None,
) -> list[OutputError]:
    """Compare a model with its compiled form: a row per output and size, and for the first that differ the
    first intermediate value that does."""
    _check_rtol(rtol)
    pair = verify_models.Pair(compiled, path, rtol, ep, threads, runtime)
    guesses = verify_models.SIZES if inputs.has_default_sizes else (ANY_SIZES,)
    with progress.bar():
        draw, redraws = inputs.draw_for(compiled), inputs.files is None
        found = [*verify_models.verify_at_sizes(pair, draw, guesses, within, redraws)]
    for remark in (each for each in found if isinstance(each, str)):
        messages.mention(remark)
    return [each for each in found if not isinstance(each, str)]


def _check_rtol(rtol: float | None) -> None:
    if rtol is not None and not rtol >= 0:
        raise UsageError(Diagnostic("error", sentence("--rtol", rtol, "a number >= 0")))


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
    said = f"{row.verdict} ({row.strategy})" if row.strategy else row.verdict
    return (name, row.dtype, shape, *(("", "", "") if row.unchecked else errors), said)


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
