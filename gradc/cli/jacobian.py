"""`gradc jacobian`: write all partial derivatives as a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gradc.cli.derivative_options import CHUNK_SIZE, derivative_options, write_derivative
from gradc.cli.help import Command, Word
from gradc.cli.options import BATCH_AXIS, FAMILY, PER_SAMPLE

if TYPE_CHECKING:
    from gradc.compiler.source import Source

MODE = click.option(
    "--mode",
    type=Word(["auto", "forward", "reverse"]),
    default="auto",
    show_default=True,
    help="Compute columns or rows: columns by tangents (forward), rows by cotangents (reverse), or whichever "
    "are fewer (auto).",
)


@click.command(
    cls=Command,
    example="gradc jacobian model.onnx --of y --wrt x -o jacobian.onnx",
    common="-o --wrt --of --mode --keep-outputs --rename --weights --rebatch --check --target --opset",
    options_metavar="-o OUT [OPTIONS]",
)
@derivative_options(MODE, CHUNK_SIZE, PER_SAMPLE, BATCH_AXIS, FAMILY, whats="jacobian", pairs=True)
def jacobian(source: Source, **given: Any) -> None:
    """Write the Jacobian of IN, all partial derivatives, as a model.

    It has the inputs of IN, and a result jacobian_<OF>_<WRT> of shape [*OF, *WRT] for each --of and --wrt.
    """
    from gradc.derivatives.jacobian import JacobianRequest, jacobian_of

    write_derivative(jacobian_of, JacobianRequest, source, **given)
