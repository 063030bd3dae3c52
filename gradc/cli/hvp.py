"""`gradc hvp`: write products of the Hessian with vectors as a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gradc.cli.derivative_options import REDUCE, derivative_options, write_derivative
from gradc.cli.help import Command

if TYPE_CHECKING:
    from gradc.compiler.source import Source


@click.command(
    cls=Command,
    example="gradc hvp model.onnx --reduce sum -o hvp.onnx",
    common="-o --wrt --of --reduce --keep-outputs --rename --scale --weights --rebatch --check --target "
    "--opset",
    options_metavar="-o OUT [OPTIONS]",
)
@derivative_options(REDUCE, whats="hvp or tangent")
def hvp(source: Source, **given: Any) -> None:
    """Write the product of the Hessian of IN with a vector, as a model.

    It has the inputs of IN, an input tangent_<WRT> and a result hvp_<WRT> for each --wrt, both with its shape
    and dtype. Several --wrt have a joint Hessian.
    """
    from gradc.derivatives.request import GradientRequest
    from gradc.derivatives.second_order import hvp_of

    write_derivative(hvp_of, GradientRequest, source, **given)
