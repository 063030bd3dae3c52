"""`gradc compile`: compile a graph to a model, or to IR."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from gradc.cli.completion import a_file, a_pass
from gradc.cli.endings import IR, MODEL, check_ending
from gradc.cli.help import Command, Word
from gradc.cli.options import (
    COMPILED_THREADS,
    EXTERNAL_DATA,
    LIMITS,
    QUIET,
    REBATCH,
    RECORD_PIPELINE,
    STATIC_SHAPE,
    STATIC_SHAPES,
    Tuning,
    shapes_of,
    source_arguments,
    source_options,
    tuning_options,
)
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
@click.option(
    "--stop-after",
    metavar="PASS",
    shell_complete=a_pass,
    help="Write the IR after this pass (implies --emit mlir).",
)
@click.option("--print-ir-after-all", is_flag=True, help="Print the IR after each pass.")
@click.option("--print-ir-after-change", is_flag=True, help="Print the IR after each pass that changes it.")
@click.option("--timing", is_flag=True, help="Print the time of each pass.")
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
    stop_after: str | None,
    print_ir_after_all: bool,
    print_ir_after_change: bool,
    timing: bool,
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
    from gradc.cli import commands
    from gradc.inspection.observe import Check, Observers, PrintIR, Timing

    if stop_after is None and emit == "onnx" and output is None:
        raise click.UsageError("Missing option '-o' / '--output': where the model goes ('-' for stdout).")
    if as_json and (stop_after is not None or emit != "onnx" or output == commands.STDOUT):
        raise click.UsageError("--json describes a model in a file: -o FILE.onnx.")
    if given["checked"] and (stop_after is not None or emit != "onnx"):
        raise click.UsageError("--checked applies to models, not to IR.")
    if external_data and (stop_after is not None or emit != "onnx"):
        raise click.UsageError("--external-data applies to models, not to IR.")
    check_ending(output, MODEL if stop_after is None and emit == "onnx" else IR)
    source = replace(source, rebatch=rebatch, static_shapes=shapes_of(static_shapes, STATIC_SHAPE))
    tuning.request.check_shapes_are_used()
    options = tuning.options(given)
    observers = Observers()
    if print_ir_after_all or print_ir_after_change:
        observers.add(PrintIR(messages.note, only_changes=not print_ir_after_all))
    if check:
        observers.add(Check(messages.note))
    timer = Timing() if timing else None
    if timer:
        observers.add(timer)
    before = commands.measures_of(source) if as_json or messages.reports() else None
    with tuning.tuner(options) as tuner:
        found = commands.compile_to(
            source, output, options, constants, emit, stop_after, observers, tuner, external_data
        )
    checked = "checked after each pass" if check else ""
    if as_json and found is not None:
        click.echo(commands.compile_json(found, before, output, timer))
        commands.report_model(found, output, checked)
        return
    if timer:
        messages.note(timer.table(look(sys.stderr)))
    if found is not None:
        if before is not None:
            messages.report(commands.changes_of(before, found).as_text(look(sys.stderr)))
        commands.report_model(found, output, checked)
