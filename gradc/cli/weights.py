"""`gradc weights`: list, extract or replace the weights of a model."""

from __future__ import annotations

import sys

import click

from gradc.cli.completion import a_file
from gradc.cli.endings import MODEL, check_ending
from gradc.cli.help import Command
from gradc.cli.options import AS_JSON, LIMITS, QUIET, one_or_several
from gradc.cli.piped import model_from_stdin
from gradc.terminal.console import has_style
from gradc.terminal.tables import look


@click.command(cls=Command, example="gradc weights model.onnx --set trained.safetensors -o tuned.onnx")
@click.argument("files", metavar="MODEL", shell_complete=a_file)
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    shell_complete=a_file,
    help="Write the values to this .safetensors or .npz file; with --set, the model.",
)
@click.option(
    "--set",
    "values",
    metavar="FILE",
    multiple=True,
    callback=one_or_several,
    shell_complete=a_file,
    help="Put the values of this .safetensors or .npz file into the model; repeatable.",
)
@AS_JSON
@QUIET
@LIMITS
def weights(files: str, output: str | None, values: str | tuple[str, ...] | None, as_json: bool) -> None:
    """List the weights of the ONNX file MODEL, extract their values, or replace them.

    The role is constant, default (an input with a value in the model) or required (an input of a gradient
    without one). --set may replace only some of the weights; the rest of the model is unchanged.
    """
    from gradc.cli import weights_command as command

    if values is not None and output is None:
        raise click.UsageError("--set needs -o OUT for the model.")
    if output == "-":
        raise click.UsageError("-o -: values are written to a file, -o FILE.")
    if values is not None:
        check_ending(output, MODEL)
    if as_json and output is not None:
        raise click.UsageError("--json prints a list, -o writes a file: use one of them.")
    with model_from_stdin([files]) as (model,):
        if values is not None and output is not None:
            command.set_to(model, values, output)
        elif output is not None:
            command.extract_to(model, output)
        else:
            text = command.list_weights(model, as_json, look(sys.stdout))
            click.echo(text, color=has_style(sys.stdout) or None)
