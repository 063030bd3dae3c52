"""`gradc hessian`: write all second partial derivatives of a model as a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gradc.cli.derivative_options import CHUNK_SIZE, derivative_options, write_derivative
from gradc.cli.help import Command

if TYPE_CHECKING:
    from gradc.compiler.source import Source

DIAGONAL = click.option(
    "--diagonal", is_flag=True, help="Return only the diagonals: hessian_diagonal_<OF>_<WRT>, [*OF, *WRT]."
)
TRACE = click.option(
    "--trace", is_flag=True, help="Return only the sum of the diagonals: laplacian_<OF>, in the shape of OF."
)


@click.command(
    cls=Command,
    example="gradc hessian model.onnx --of loss --wrt x -o hessian.onnx",
    common="-o --wrt --of --diagonal --trace --keep-outputs --rename --weights --rebatch --check --target "
    "--opset",
    options_metavar="-o OUT [OPTIONS]",
)
@derivative_options(DIAGONAL, TRACE, CHUNK_SIZE, whats="hessian, hessian_diagonal or laplacian", pairs=True)
def hessian(source: Source, **given: Any) -> None:
    """Write the Hessian of IN, all second partial derivatives, as a model.

    It has the inputs of IN, and a result hessian_<OF>_<WRT1>_<WRT2> of shape [*OF, *WRT1, *WRT2] for each
    --of and each two of --wrt.
    """
    from gradc.derivatives.hessian import HessianRequest, hessian_of

    write_derivative(hessian_of, HessianRequest, source, **given)
