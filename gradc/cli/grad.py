"""`gradc grad`: write the gradient of a model as a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import click

from gradc.cli.completion import a_file
from gradc.cli.endings import IR, MODEL, check_ending
from gradc.cli.help import Command, Word
from gradc.cli.observing import Observing, observing_options
from gradc.cli.options import (
    AS_JSON,
    EXTERNAL_DATA,
    LIMITS,
    OF,
    QUIET,
    REBATCH,
    RECORD_PIPELINE,
    SCALE,
    STATIC_SHAPE,
    STATIC_SHAPES,
    STRAIGHT_THROUGH,
    WRT,
    options_of,
    source_arguments,
    source_options,
)
from gradc.cli.run_options import COMPILED_THREADS, shapes_of
from gradc.terminal import messages

if TYPE_CHECKING:
    from gradc.compiler.source import Source


class ListRules(click.Option):
    """A flag that lists the rules of the ops named instead of files, or of all ops, and exits."""

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        given, args = super().handle_parse_result(ctx, opts, args)
        if given and not ctx.resilient_parsing:
            from gradc.inspection.rules import as_text

            names: Any = opts.get("files")
            click.echo(as_text(names if isinstance(names, tuple) else ()))
            ctx.exit()
        return given, args


def _gradient_options(command: Any) -> Any:
    for option in reversed(
        (
            click.option(
                "-o",
                "--output",
                metavar="OUT",
                shell_complete=a_file,
                help="File to write; - for stdout.  [required for a model; default for IR: -]",
            ),
            WRT,
            OF,
            click.option("--cotangents", is_flag=True, help="Add an input cotangent_<OF> for each --of."),
            click.option(
                "--reduce", type=Word(["sum", "mean"]), help="Reduction of an --of that is not a scalar."
            ),
            click.option(
                "--keep-outputs",
                multiple=True,
                metavar="NAME",
                default=["none"],
                help="Results before the gradients: none, of (the --of values), all (outputs), or "
                "values by name, as a,b.  [default: none]",
            ),
            click.option(
                "--weights",
                type=Word(["required", "default", "constant"]),
                help="Differentiated weights: inputs (initial values in OUT.weights.safetensors), inputs "
                "with a default, or constants.  [default: default]",
            ),
            click.option("--weights-as-inputs/--no-weights-as-inputs", default=None, hidden=True),
            click.option(
                "--allow-unused", is_flag=True, help="Return zeros for a --wrt that --of does not use."
            ),
            STRAIGHT_THROUGH,
            click.option(
                "--list-rules",
                cls=ListRules,
                is_flag=True,
                is_eager=True,
                expose_value=False,
                help="List ONNX ops and their derivative rules; ops named instead of IN: only these.",
            ),
            click.option(
                "--check/--no-check",
                default=None,
                help="Prove the gradient without a time limit, or not at all.  [default: --check-seconds 30]",
            ),
            click.option(
                "--check-seconds",
                type=float,
                metavar="N",
                help="Time limit of the proof; unproved parts are listed.  [default: 30]",
            ),
            STATIC_SHAPES,
            REBATCH,
            SCALE,
            click.option(
                "--name-template",
                metavar="TEXT",
                default="{what}_{name}",
                show_default=True,
                help="Pattern for names of new results and inputs; {what}: grad or cotangent.",
            ),
        )
    ):
        command = option(command)
    return command


@click.command(
    cls=Command,
    example="gradc grad model.onnx --reduce sum -o gradient.onnx",
    common="-o --wrt --of --reduce --cotangents --keep-outputs --rename --scale --weights --rebatch --check "
    "--target --opset",
    options_metavar="-o OUT [OPTIONS]",
)
@source_arguments
@_gradient_options
@source_options
@observing_options
@COMPILED_THREADS
@RECORD_PIPELINE
@EXTERNAL_DATA
@AS_JSON
@QUIET
@LIMITS
def grad(
    source: Source,
    output: str | None,
    observing: Observing,
    constants: str | tuple[str, ...] | None,
    static_shapes: tuple[str, ...],
    keep_outputs: tuple[str, ...],
    external_data: bool,
    weights: str | None,
    weights_as_inputs: bool | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Write the gradient of IN, an ONNX model or a graph, as a model.

    It has the inputs of IN, and a result grad_<WRT> for each --wrt, with its shape and dtype.
    """
    from gradc.cli import compiling, differentiating
    from gradc.derivatives.module import pass_names
    from gradc.derivatives.request import GradientRequest
    from gradc.terminal.outputs import STDOUT

    if observing.stop_after is None and output is None:
        raise click.UsageError("Missing option '-o' / '--output': where the model goes ('-' for stdout).")
    if observing.stop_after is not None and (as_json or external_data):
        raise click.UsageError("--json and --external-data apply to models, not to IR.")
    if as_json and output == STDOUT:
        raise click.UsageError("--json and -o - both write to stdout.")
    check_ending(output, MODEL if observing.stop_after is None else IR)
    own = {field.name: given.pop(field.name) for field in fields(GradientRequest) if field.name in given}
    own |= {name: own[name] or None for name in ("wrt", "of")}
    own["weights"] = _weights(weights, weights_as_inputs, output)
    shapes = shapes_of(static_shapes, STATIC_SHAPE)
    asked = GradientRequest(**own, static_shapes=shapes, keep_outputs=keep_outputs, rename=source.names)
    options, found = options_of(given), None
    with observing.stopping(pass_names(asked, options), output):
        found = differentiating.gradient_to(
            replace(source, names={}),
            output,
            asked,
            options,
            constants,
            external_data,
            observing.observers,
        )
    observing.show_times()
    if found is None:
        return
    if as_json:
        click.echo(differentiating.gradient_json(found, output))
    compiling.report_model(found, output, str(found.proof))


def _weights(given: str | None, as_inputs: bool | None, output: str | None) -> str:
    """Return the value of --weights, or that of the deprecated flags."""
    from dialects.support.diagnostics import Diagnostic
    from gradc.derivatives.request import REQUIRED, weights_of

    found = weights_of(given, as_inputs)
    if as_inputs is not None:
        flag = "--weights-as-inputs" if as_inputs else "--no-weights-as-inputs"
        messages.show_remarks(Diagnostic("warning", f"{flag} is deprecated; use --weights {found}"))
    if found == REQUIRED and output == "-":
        raise click.UsageError("--weights required writes two files: give -o FILE.")
    return found
