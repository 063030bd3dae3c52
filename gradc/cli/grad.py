"""`gradc grad`: write the gradient of a model as a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from gradc.cli.derivative_options import REDUCE, derivative_options, write_derivative
from gradc.cli.help import Command
from gradc.cli.options import BATCH_AXIS, FAMILY, NUM_COTANGENTS, PER_SAMPLE

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


COTANGENTS = click.option("--cotangents", is_flag=True, help="Add an input cotangent_<OF> for each --of.")
WEIGHTS_AS_INPUTS = click.option("--weights-as-inputs/--no-weights-as-inputs", default=None, hidden=True)
LIST_RULES = click.option(
    "--list-rules",
    cls=ListRules,
    is_flag=True,
    is_eager=True,
    expose_value=False,
    help="List ONNX ops and their derivative rules; ops named instead of IN: only these.",
)

OPTIONS = (COTANGENTS, NUM_COTANGENTS, PER_SAMPLE, BATCH_AXIS, FAMILY, REDUCE, WEIGHTS_AS_INPUTS, LIST_RULES)


@click.command(
    cls=Command,
    example="gradc grad model.onnx --reduce sum -o gradient.onnx",
    common="-o --wrt --of --reduce --cotangents --keep-outputs --rename --scale --weights --rebatch --check "
    "--target --opset",
    options_metavar="-o OUT [OPTIONS]",
)
@derivative_options(*OPTIONS, whats="grad or cotangent")
def grad(source: Source, **given: Any) -> None:
    """Write the gradient of IN, an ONNX model or a graph, as a model.

    It has the inputs of IN, and a result grad_<WRT> for each --wrt, with its shape and dtype.
    """
    from gradc.derivatives.gradient import gradient_of
    from gradc.derivatives.row_requests import VjpRequest

    write_derivative(gradient_of, VjpRequest, source, **given)
