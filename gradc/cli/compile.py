"""`gradc compile`: compile a graph to a model, or to IR."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from gradc.cli.completion import a_file
from gradc.cli.endings import IR, MODEL, check_ending
from gradc.cli.help import Command, Word
from gradc.cli.observing import Observing, observing_options
from gradc.cli.options import (
    EXTERNAL_DATA,
    LIMITS,
    QUIET,
    REBATCH,
    RECORD_PIPELINE,
    STATIC_SHAPE,
    STATIC_SHAPES,
    source_arguments,
    source_options,
)
from gradc.cli.run_options import COMPILED_THREADS, Tuning, shapes_of, tuning_options
from gradc.terminal import messages
from gradc.terminal.tables import look

if TYPE_CHECKING:
    from gradc.compiler.source import Source


@click.command(
    name="compile",
    cls=Command,
    example="gradc compile graph.json -o graph.onnx",
    common="-o --target --opset --constants --rename --rebatch --static-shape --strategy "
    "--tune --threads --check --emit --json",
    options_metavar="-o OUT [OPTIONS]",
)
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    shell_complete=a_file,
    help="File to write; - for stdout.  [required for a model; default for IR: -]",
)
@source_arguments
@source_options
@COMPILED_THREADS
@click.option(
    "--emit",
    type=Word(["onnx", "mlir"]),
    default="onnx",
    show_default=True,
    help="Output format: an ONNX model, or MLIR text.",
)
@observing_options
@click.option("--check", is_flag=True, help="Execute the IR before and after each pass and compare.")
@click.option(
    "--checked",
    is_flag=True,
    help="Make the model fail for dynamic sizes that the graph does not allow.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a summary of the model as JSON.")
@STATIC_SHAPES
@REBATCH
@RECORD_PIPELINE
@click.option("--drop-unused-inputs", is_flag=True, help="Remove inputs that the model does not use.")
@EXTERNAL_DATA
@tuning_options
@QUIET
@LIMITS
def compile_command(
    source: Source,
    output: str | None,
    emit: str,
    observing: Observing,
    check: bool,
    as_json: bool,
    tuning: Tuning,
    constants: str | tuple[str, ...] | None,
    external_data: bool,
    rebatch: int | str | None,
    static_shapes: tuple[str, ...],
    **given: Any,
) -> None:
    """Compile the graph IN (- for stdin) to ONNX; several oneDNN Graph JSON files are one graph."""
    from gradc.cli import compiling
    from gradc.compiler.pass_runner import parse
    from gradc.terminal.outputs import STDOUT

    stop_after = observing.stop_after
    if stop_after is None and emit == "onnx" and output is None:
        raise click.UsageError("Missing option '-o' / '--output': where the model goes ('-' for stdout).")
    if as_json and (stop_after is not None or emit != "onnx" or output == STDOUT):
        raise click.UsageError("--json describes a model in a file: -o FILE.onnx.")
    if given["checked"] and (stop_after is not None or emit != "onnx"):
        raise click.UsageError("--checked applies to models, not to IR.")
    if external_data and (stop_after is not None or emit != "onnx"):
        raise click.UsageError("--external-data applies to models, not to IR.")
    check_ending(output, MODEL if stop_after is None and emit == "onnx" else IR)
    source = replace(source, rebatch=rebatch, static_shapes=shapes_of(static_shapes, STATIC_SHAPE))
    tuning.request.check_shapes_are_used()
    options = tuning.options(given)
    observers, timer, found = observing.observers, observing.timer, None
    if check:
        from gradc.inspection.check_passes import Check

        observers.add(Check(messages.note))
    before = compiling.measures_of(source) if as_json or messages.reports() else None
    passes = [pass_.name for pass_ in parse(options.pipeline)]
    with tuning.tuner(options) as tuner, observing.stopping(passes, output):
        found = compiling.compile_to(
            source, output, options, constants, emit, observers, tuner, external_data
        )
    checked = "checked after each pass" if check else ""
    if as_json and found is not None:
        click.echo(compiling.compile_json(found, before, output, timer))
        compiling.report_model(found, output, checked)
        return
    observing.show_times()
    if found is not None:
        if before is not None:
            messages.report(compiling.changes_of(before, found).as_text(look(sys.stderr)))
        compiling.report_model(found, output, checked)
