"""Options that all commands for derivatives share, and the step from options to a written model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import click

from gradc.cli.completion import a_file
from gradc.cli.endings import IR, MODEL, check_ending
from gradc.cli.help import ExclusiveFlag, Word
from gradc.cli.observing import Observing, observing_options
from gradc.cli.options import (
    AS_JSON,
    EXTERNAL_DATA,
    FROZEN,
    LIMITS,
    OF,
    QUIET,
    REBATCH,
    RECORD_PIPELINE,
    SCALE,
    STATIC_SHAPE,
    STATIC_SHAPES,
    STRAIGHT_THROUGH,
    UNTIE,
    WRT,
    options_of,
    source_arguments,
    source_options,
)
from gradc.cli.run_options import COMPILED_THREADS, shapes_of
from gradc.terminal import messages

if TYPE_CHECKING:
    from gradc.cli.differentiating import Derive
    from gradc.compiler.source import Source
    from gradc.derivatives.request import GradientRequest

OUTPUT = click.option(
    "-o",
    "--output",
    metavar="OUT",
    shell_complete=a_file,
    help="File to write; - for stdout.  [required for a model; default for IR: -]",
)
REDUCE = click.option(
    "--reduce", type=Word(["sum", "mean"]), help="Reduction of an --of that is not a scalar."
)
KEEP_OUTPUTS = click.option(
    "--keep-outputs",
    multiple=True,
    metavar="NAME",
    default=["none"],
    help="Also return these values: of (the --of values), all (outputs), or values by name, as a,b; they "
    "precede the derivatives.  [default: none]",
)
WEIGHTS = click.option(
    "--weights",
    type=Word(["required", "default", "constant"]),
    help="Storage of differentiated weights: inputs (initial values in OUT.weights.safetensors), inputs with "
    "a default, or constants.  [default: default]",
)
ALLOW_UNUSED = click.option(
    "--allow-unused", is_flag=True, help="Return zeros for a --wrt that --of does not use."
)
STOP_GRADIENT = click.option(
    "--stop-gradient",
    multiple=True,
    metavar="VALUE",
    help="Let no gradient flow through this value, or those of a pattern; repeatable.",
)
BATCHNORM = click.option(
    "--batchnorm",
    type=Word(["train", "eval"]),
    help="Mode of BatchNormalization: statistics of the batch, with new running ones as results new_<NAME>, "
    "or the running ones.  [default: as in the file]",
)
DROPOUT = click.option(
    "--dropout",
    type=Word(["hashed", "keep", "off"]),
    help="Mode of Dropout: a mask hashed from an input seed, as in the file, or none.  [default: keep]",
)
CHECK = click.option(
    "--check/--no-check",
    cls=ExclusiveFlag,
    default=None,
    help="Prove the derivative without a time limit, or not at all.  [default: --check-seconds 30]",
)
CHECK_SECONDS = click.option(
    "--check-seconds",
    type=float,
    metavar="N",
    help="CPU time of the proof; unproved parts are listed.  [default: 30]",
)

CHUNK_SIZE = click.option(
    "--chunk-size",
    type=int,
    metavar="N",
    help="Compute at most N rows at once, which takes less memory.  [default: all]",
)

BEFORE = (OUTPUT, WRT, FROZEN, UNTIE, OF)
AFTER = (
    KEEP_OUTPUTS,
    WEIGHTS,
    ALLOW_UNUSED,
    STRAIGHT_THROUGH,
    STOP_GRADIENT,
    BATCHNORM,
    DROPOUT,
    CHECK,
    CHECK_SECONDS,
    STATIC_SHAPES,
    REBATCH,
    SCALE,
)
OF_COMMANDS = (
    source_options,
    observing_options,
    COMPILED_THREADS,
    RECORD_PIPELINE,
    EXTERNAL_DATA,
    AS_JSON,
    QUIET,
    LIMITS,
)

Decorator = Callable[[Any], Any]


def derivative_options(*own: Decorator, whats: str, pairs: bool = False) -> Decorator:
    """Decorate a command with the source, the options of all derivatives and those of `own`.

    `whats` are the values of `{what}` in its name template; `pairs`: results belong to an `of` and to `wrt`.
    """
    name = "; {of} and {wrt} may replace {name}" if pairs else ""
    template = click.option(
        "--name-template",
        metavar="TEXT",
        default="{what}_{name}",
        show_default=True,
        help=f"Pattern for names of new results and inputs; {{what}}: {whats}{name}.",
    )

    def decorate(command: Any) -> Any:
        for option in reversed((source_arguments, *BEFORE, *own, *AFTER, template, *OF_COMMANDS)):
            command = option(command)
        return command

    return decorate


def write_derivative(
    derive: Derive,
    kind: type[GradientRequest],
    source: Source,
    *,
    output: str | None,
    observing: Observing,
    constants: str | tuple[str, ...] | None,
    static_shapes: tuple[str, ...],
    external_data: bool,
    weights: str | None,
    as_json: bool,
    weights_as_inputs: bool | None = None,
    **given: Any,
) -> None:
    """Write the derivative of a source, a request of `kind` with the given options, as a model."""
    from gradc.cli import compiling, differentiating
    from gradc.derivatives.module import pass_names

    _check_output(output, observing, as_json, external_data)
    own = {field.name: given.pop(field.name) for field in fields(kind) if field.name in given}
    own |= {name: own[name] or None for name in ("wrt", "of")}
    own["weights"] = _weights(weights, weights_as_inputs, output)
    shapes = shapes_of(static_shapes, STATIC_SHAPE)
    user_request, options = kind(**own, static_shapes=shapes, rename=source.names), options_of(given)
    source, found = replace(source, names={}), None
    with observing.stopping(pass_names(user_request, options), output):
        found = differentiating.derivative_to(
            derive, source, output, user_request, options, constants, external_data, observing.observers
        )
    observing.show_times()
    if found is None:
        return
    if as_json:
        click.echo(differentiating.derivative_json(found, output))
    compiling.report_model(found, output, str(found.proof))


def _check_output(output: str | None, observing: Observing, as_json: bool, external_data: bool) -> None:
    from gradc.terminal.outputs import STDOUT

    if observing.stop_after is None and output is None:
        raise click.UsageError("Missing option '-o' / '--output': where the model goes ('-' for stdout).")
    if observing.stop_after is not None and (as_json or external_data):
        raise click.UsageError("--json and --external-data apply to models, not to IR.")
    if as_json and output == STDOUT:
        raise click.UsageError("--json and -o - both write to stdout.")
    check_ending(output, MODEL if observing.stop_after is None else IR)


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
