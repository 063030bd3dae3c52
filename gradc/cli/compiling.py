"""Compile sources and write models: what `gradc compile` and others do with their options."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from dialects.support.diagnostics import Diagnostic, violation
from gradc.compiler.compiled import Compiled
from gradc.compiler.driver import compile_module, load, lower
from gradc.compiler.options import Options
from gradc.compiler.pass_runner import Observer
from gradc.compiler.source import Source
from gradc.files.json_text import json_text
from gradc.graph.constants import bind_constants
from gradc.graph.printing import module_text
from gradc.graph.unused import unused_remarks
from gradc.model import saving
from gradc.terminal import messages, progress
from gradc.terminal.numbers import format_bytes
from gradc.terminal.outputs import STDOUT, write_output
from gradc.terminal.streams import write_stdout

if TYPE_CHECKING:
    from gradc.inspection.before_after import BeforeAfter, Measures
    from gradc.inspection.observe import Timing
    from gradc.tuning.tuner import Tuner

Files = str | tuple[str, ...]
"""One file, or several."""


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
        write_model(found, output, external_data)
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


def load_bound(source: Source, options: Options, constants: Files | None) -> ModuleOp:
    """Import a source, with inputs replaced by constants."""
    module = load(source, options.auto_pad_rule, target=options.target)
    if constants is not None:
        from gradc.files.arrays import read_files

        bind_constants(module, read_files(constants))
    return module


def write_model(compiled: Compiled, output: str | None, external_data: bool) -> None:
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


def compile_json(
    compiled: Compiled, before: Measures | None, output: str | None, timing: Timing | None
) -> str:
    from gradc.inspection import summaries

    passes = None if timing is None else timing.rows
    found = summaries.of_compiled(compiled, output, passes)
    changes = {} if before is None else {"changes": changes_of(before, compiled).as_data()}
    return json_text(found | changes)


def measures_of(source: Source) -> Measures | None:
    """Measure a source that is a model."""
    from gradc.inspection import before_after

    return before_after.of_file(source.files[0]) if source.is_model else None


def changes_of(before: Measures, compiled: Compiled) -> BeforeAfter:
    from gradc.inspection.before_after import BeforeAfter, of_compiled

    return BeforeAfter(before, of_compiled(compiled))


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
