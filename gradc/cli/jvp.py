"""`gradc jvp`: write products of the Jacobian with vectors, forward mode, as a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gradc.cli.derivative_options import derivative_options, write_derivative
from gradc.cli.help import Command
from gradc.cli.options import FAMILY, number_or_name

if TYPE_CHECKING:
    from gradc.compiler.source import Source

NUM_TANGENTS = click.option(
    "--num-tangents",
    metavar="K|NAME",
    callback=number_or_name,
    help="Tangents and results have a leading axis of this size, all computed in one run: a number, or a "
    "name for a dynamic size.",
)


@click.command(
    cls=Command,
    example="gradc jvp model.onnx --wrt image -o jvp.onnx",
    common="-o --wrt --of --keep-outputs --rename --scale --weights --rebatch --check --target --opset",
    options_metavar="-o OUT [OPTIONS]",
)
@derivative_options(NUM_TANGENTS, FAMILY, whats="jvp or tangent")
def jvp(source: Source, **given: Any) -> None:
    """Write the product of the Jacobian of IN with a vector, as a model: forward mode.

    It has the inputs of IN, an input tangent_<WRT> for each --wrt, and a result jvp_<OF> for each --of, the
    directional derivative along all tangents.
    """
    from gradc.derivatives.forward import jvp_of
    from gradc.derivatives.row_requests import JvpRequest

    write_derivative(jvp_of, JvpRequest, source, **given)
